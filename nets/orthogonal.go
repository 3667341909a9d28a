package nets

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// orthogonal draws a matrix [rows, columns], row-major, into p: standard normal numbers whose shorter dimension's vectors
// are made orthonormal, times gain. Products are rounded before they are added, so that all architectures give the same
// bits.
func orthogonal(p []float32, rows, columns int, gain float64, key rng.Key) {
	count, length := rows, columns // of the vectors
	at := func(i, j int) int { return i*columns + j }
	if rows > columns {
		count, length = columns, rows
		at = func(i, j int) int { return j*columns + i }
	}
	vectors := make([][]float64, count)
	for i := range vectors {
		v := make([]float64, length)
		for j := range v {
			v[j] = key.With(uint64(at(i, j))).Norm()
		}
		for range 2 { // once leaves rounding errors along the others where v hardly differs from them
			for _, u := range vectors[:i] {
				along := dot(u, v)
				for j := range v {
					v[j] -= float64(along * u[j])
				}
			}
		}
		norm := math.Sqrt(dot(v, v))
		for j := range v {
			v[j] /= norm
			p[at(i, j)] = float32(gain * v[j])
		}
		vectors[i] = v
	}
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i] * y[i])
	}
	return sum
}
