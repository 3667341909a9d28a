package gp

import (
	"math"
	"slices"
)

// Acquisition is a function of a point that is not negative, and adds its gradient to g; g is nil where only the value
// is asked for.
type Acquisition func(x, g []float64) float64

// Maximize returns the point of the largest value that L-BFGS reaches from the best starts among some points
// (row-major), and the value there. The logarithm is climbed, so that steps do not depend on how large the values are.
// Of equal points the first counts.
func Maximize(f Acquisition, box Box, points []float64, starts int) (best []float64, value float64) {
	d := len(box.Low)
	n := len(points) / d
	values, order := make([]float64, n), make([]int, n)
	for i := range n {
		values[i], order[i] = f(points[i*d:(i+1)*d], nil), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return 0
	})
	z := newMinimizer(func(x, g []float64) float64 {
		v := f(x, g)
		if !(v > 0) {
			return math.Inf(1)
		}
		for i := range g {
			g[i] /= -v
		}
		return -math.Log(v)
	}, box, 1e-5, 100)
	best = append([]float64(nil), points[order[0]*d:(order[0]+1)*d]...)
	value = values[order[0]]
	for _, i := range order[:min(starts, n)] {
		if values[i] <= 0 {
			break // flat: there is no way up
		}
		if x, logarithm := z.run(points[i*d : (i+1)*d]); math.Exp(-logarithm) > value {
			value = math.Exp(-logarithm)
			copy(best, x)
		}
	}
	return best, value
}
