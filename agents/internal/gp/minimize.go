package gp

import (
	_ "embed"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/rng"
)

// Box is a product of intervals, in which [Maximize] searches and fits are bounded.
type Box struct{ Low, High []float64 }

// clip moves x to the nearest point of the box.
func (b *Box) clip(x []float64) {
	for i := range x {
		x[i] = min(max(x[i], b.Low[i]), b.High[i])
	}
}

// memory is the number of steps from which curvature is estimated.
const memory = 10

// minimizer is projected L-BFGS: coordinates on a bound that would leave the box are held, the others take the
// quasi-Newton direction of Nocedal's two loops, and the step is clipped to the box and shortened until the value falls
// enough. (gonum's optimize depends on a module beyond gonum, and has no bounds.)
type minimizer struct {
	f          func(x, gradient []float64) float64
	box        Box
	x, g       []float64
	nx, ng, d  []float64
	held       []bool
	steps      [memory][]float64 // changes of x, the latest last
	changes    [memory][]float64 // changes of the gradient
	kept       int
	tolerance  float64 // of the projected gradient
	iterations int
}

func newMinimizer(f func(x, gradient []float64) float64, box Box, tolerance float64, iterations int) *minimizer {
	n := len(box.Low)
	z := &minimizer{f: f, box: box, tolerance: tolerance, iterations: iterations, held: make([]bool, n)}
	for _, v := range []*[]float64{&z.x, &z.g, &z.nx, &z.ng, &z.d} {
		*v = make([]float64, n)
	}
	for i := range memory {
		z.steps[i], z.changes[i] = make([]float64, n), make([]float64, n)
	}
	return z
}

// run minimizes from start. The point it returns is valid until the next run.
func (z *minimizer) run(start []float64) (best []float64, value float64) {
	copy(z.x, start)
	z.box.clip(z.x)
	z.kept = 0
	value = z.at(z.x, z.g)
	small := 0
	for range z.iterations {
		if z.direction() {
			break
		}
		next, ok := z.step(value)
		if !ok {
			if z.kept == 0 {
				break // not even the gradient leads down
			}
			z.kept = 0
			continue
		}
		z.remember()
		// Rounding bounds what can still be won.
		if small++; value-next > 1e-15*math.Abs(value) {
			small = 0
		}
		value = next
		z.x, z.nx, z.g, z.ng = z.nx, z.x, z.ng, z.g
		if small == 3 {
			break
		}
	}
	return z.x, value
}

// at is f with what cannot be compared counted as very large.
func (z *minimizer) at(x, g []float64) float64 {
	clear(g)
	v := z.f(x, g)
	if math.IsNaN(v) || v > huge {
		clear(g)
		return huge
	}
	return v
}

const huge = 1e100

// direction sets d. It reports whether the point is stationary.
func (z *minimizer) direction() bool {
	most := 0.0
	for i, g := range z.g {
		z.held[i] = g > 0 && z.x[i] <= z.box.Low[i] || g < 0 && z.x[i] >= z.box.High[i]
		z.d[i] = -g
		if z.held[i] {
			z.d[i] = 0
		} else {
			most = max(most, math.Abs(g))
		}
	}
	if most <= z.tolerance {
		return true
	}
	var factor [memory]float64
	var curvature [memory]float64
	scale := 0.0
	for i := z.kept - 1; i >= 0; i-- {
		s, y := z.steps[i], z.changes[i]
		sy, yy := z.free(s, y), z.free(y, y)
		if sy <= 1e-12*yy {
			continue
		}
		curvature[i] = sy
		if scale == 0 {
			scale = sy / yy
		}
		factor[i] = z.free(s, z.d) / sy
		z.add(-factor[i], y)
	}
	if scale == 0 {
		// A first step of a tenth of the box at most.
		scale = 1
		for i, d := range z.d {
			if d != 0 {
				scale = min(scale, (z.box.High[i]-z.box.Low[i])/(10*math.Abs(d)))
			}
		}
	}
	for i := range z.d {
		z.d[i] *= scale
	}
	for i := range z.kept {
		if curvature[i] > 0 {
			z.add(factor[i]-z.free(z.changes[i], z.d)/curvature[i], z.steps[i])
		}
	}
	if z.free(z.g, z.d) >= 0 {
		z.kept = 0
		return z.direction()
	}
	return false
}

// free is the inner product over the coordinates that are not held.
func (z *minimizer) free(a, b []float64) float64 {
	var sum float64
	for i, held := range z.held {
		if !held {
			sum += a[i] * b[i]
		}
	}
	return sum
}

// add adds c·v to d, but where coordinates are held.
func (z *minimizer) add(c float64, v []float64) {
	for i, held := range z.held {
		if !held {
			z.d[i] += c * v[i]
		}
	}
}

// step searches along d, clipped to the box, for a value that is low enough (Armijo's rule), and leaves it in nx and
// ng.
func (z *minimizer) step(value float64) (next float64, ok bool) {
	length := 1.0
	for range 30 {
		var fall float64
		for i := range z.nx {
			z.nx[i] = min(max(z.x[i]+length*z.d[i], z.box.Low[i]), z.box.High[i])
			fall += z.g[i] * (z.nx[i] - z.x[i])
		}
		next = z.at(z.nx, z.ng)
		if fall < 0 && next < value && next <= value+1e-4*fall {
			return next, true
		}
		// The minimum of the parabola through both values and the slope, within a tenth and a half.
		t := 0.5
		if next < huge && fall < 0 {
			t = -fall / (2 * (next - value - fall))
		}
		length *= min(max(t, 0.1), 0.5)
	}
	return value, false
}

// remember keeps the last step and the change of the gradient over it.
func (z *minimizer) remember() {
	if z.kept == memory {
		s, y := z.steps[0], z.changes[0]
		copy(z.steps[:], z.steps[1:])
		copy(z.changes[:], z.changes[1:])
		z.steps[memory-1], z.changes[memory-1] = s, y
		z.kept--
	}
	s, y := z.steps[z.kept], z.changes[z.kept]
	for i := range s {
		s[i], y[i] = z.nx[i]-z.x[i], z.ng[i]-z.g[i]
	}
	z.kept++
}

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

// directions are the primitive polynomials and first direction numbers of dimensions 2 to 512.
//
//go:embed directions.txt
var directions string

// sobolBits is the number of binary digits of a point.
const sobolBits = 32

// table has the direction numbers of each dimension, the first digit highest.
var table = sync.OnceValue(func() [][sobolBits]uint32 {
	var first [sobolBits]uint32
	for k := range first {
		first[k] = 1 << (sobolBits - 1 - k)
	}
	out := [][sobolBits]uint32{first}
	for line := range strings.Lines(directions) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var numbers []uint32
		for _, word := range strings.Fields(line) {
			x, err := strconv.ParseUint(word, 10, 32)
			if err != nil {
				panic("gp: directions.txt: " + err.Error()) // embedded, and read whole by the tests
			}
			numbers = append(numbers, uint32(x))
		}
		out = append(out, expand(numbers[0], numbers[1:]))
	}
	return out
})

// expand continues a dimension's direction numbers by its polynomial (Joe and Kuo, 2008, eq. 3).
func expand(polynomial uint32, m []uint32) (v [sobolBits]uint32) {
	degree := bits.Len32(polynomial) - 1
	for k := range v {
		if k < degree {
			v[k] = m[k] << (sobolBits - 1 - k)
			continue
		}
		v[k] = v[k-degree] ^ v[k-degree]>>degree
		for i := 1; i < degree; i++ {
			if polynomial>>(degree-i)&1 == 1 {
				v[k] ^= v[k-i]
			}
		}
	}
	return v
}

// Scrambled returns n Sobol points (row-major) in (0, 1)^d, scrambled by a random lower triangular matrix and a shift
// in each dimension (Matoušek, 1998), which stream draws: each point is uniform by itself, and together they keep the
// sequence's evenness. Dimensions beyond 512 are plain draws.
func Scrambled(n, d int, stream *rng.Stream) []float64 {
	out := make([]float64, n*d)
	for j := range d {
		if j >= len(table()) {
			for i := range n {
				out[i*d+j] = stream.Open()
			}
			continue
		}
		var v [sobolBits]uint32
		var rows [sobolBits]uint32
		for k := range rows {
			// Row k mixes the digits before k, and keeps digit k.
			rows[k] = uint32(stream.Uint64()>>32)&^(1<<(sobolBits-k)-1) | 1<<(sobolBits-1-k)
		}
		for k, x := range table()[j] {
			for r, row := range rows {
				v[k] |= uint32(bits.OnesCount32(x&row)&1) << (sobolBits - 1 - r)
			}
		}
		x := uint32(stream.Uint64() >> 32)
		for i := range n {
			if i > 0 {
				x ^= v[bits.TrailingZeros32(uint32(i))]
			}
			out[i*d+j] = (float64(x) + 0.5) / (1 << sobolBits)
		}
	}
	return out
}
