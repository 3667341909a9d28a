package calibrate

import (
	"math"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// regression accumulates the normal equations of [perfmodel.Fit].
type regression struct {
	xx [4][4]float64
	xy [4]float64
	yy float64
	n  float64
}

func (g *regression) add(z sizing.Resources, p75 float64) {
	x := [4]float64{1, math.Log(float64(z.CPU) / 1000), math.Log(float64(z.Replicas)), math.Log(float64(z.Concurrency))}
	y := math.Log(p75)
	for i := range x {
		for j := range x {
			g.xx[i][j] += x[i] * x[j]
		}
		g.xy[i] += x[i] * y
	}
	g.yy += y * y
	g.n++
}

// fit solves the normal equations by elimination.
func (g *regression) fit(function string) perfmodel.Fit {
	a, b := g.xx, g.xy
	for i := range a {
		for k := range a {
			if k == i {
				continue
			}
			m := a[k][i] / a[i][i]
			for j := range a {
				a[k][j] -= m * a[i][j]
			}
			b[k] -= m * b[i]
		}
	}
	var x [4]float64
	rest := g.yy
	for i := range x {
		x[i] = b[i] / a[i][i]
		rest -= x[i] * g.xy[i]
	}
	return perfmodel.Fit{Function: function, A: x[0], B: x[1], C: x[2], D: x[3], Residual: math.Sqrt(max(rest, 0) / g.n)}
}
