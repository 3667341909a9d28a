//go:build libtorch

package torch

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
)

// reference is a MeanField's forward pass by loops over agents and samples, written from package nets' description.
func reference(f nets.MeanField, params []float64, in [][]float64, batch int) []float64 {
	slots, size := nets.Layout(f)
	param := func(agent int, name string) []float64 {
		if f.Shared {
			agent = 0
		}
		for _, s := range slots {
			if s.Name == name {
				return params[agent*size+s.Offset:][:s.Size()]
			}
		}
		return nil
	}
	// features of agent j in sample b, as agent i sees them
	features := func(i, j, b int) (x []float64) {
		for port, p := range f.In {
			values := in[port]
			if f.Others && port == len(f.In)-1 && i != j {
				values = in[port+1]
			}
			x = append(x, values[(j*batch+b)*p.Width:][:p.Width]...)
		}
		return x
	}
	var out []float64
	for i := range f.Agents {
		for b := range batch {
			x := features(i, i, b)
			if f.Mix == nets.Joint {
				x = nil
				for j := range f.Agents {
					x = append(x, features(i, j, b)...)
				}
			} else {
				x = append(x, mixture(f, i, func(j int) []float64 { return features(i, j, b) }, param)...)
			}
			for l := range len(f.Hidden) + 1 {
				name := "layer" + string(rune('0'+l))
				x = affine(x, param(i, name+".weight"), param(i, name+".bias"))
				for k := range x {
					if l < len(f.Hidden) {
						x[k] = math.Tanh(x[k])
					}
				}
			}
			out = append(out, x...)
		}
	}
	return out
}

func affine(x, weight, bias []float64) []float64 {
	n := len(weight) / len(x)
	y := make([]float64, n)
	copy(y, bias)
	for i, v := range x {
		for j := range y {
			y[j] += v * weight[i*n+j]
		}
	}
	return y
}

func mixture(f nets.MeanField, i int, features func(j int) []float64, param func(int, string) []float64) []float64 {
	sum := make([]float64, f.OwnWidth())
	var weights []float64
	total := 0.0
	for _, j := range f.Neighbours[i] {
		w := 1.0
		if f.Mix == nets.Attention {
			q, k := affine(features(i), param(i, "query.weight"), nil), affine(features(j), param(j, "key.weight"), nil)
			w = 0
			for d := range q {
				w += q[d] * k[d]
			}
			if f.Score == nets.Exp {
				w = math.Exp(w / math.Sqrt(float64(f.Keys)))
			} else {
				w *= w
			}
		}
		weights = append(weights, w)
		total += w
	}
	if f.Score == nets.Squared {
		total += nets.SquaredOffset
	}
	for n, j := range f.Neighbours[i] {
		for d, v := range features(j) {
			sum[d] += weights[n] / total * v
		}
	}
	return sum
}
