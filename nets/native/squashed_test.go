package native_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// Where tanh is ±1 in floating point the log-probability and all gradients stay finite, and right.
func TestSquashedGaussianFarOut(t *testing.T) { onBackends(t, checkSquashedFarOut) }

func checkSquashedFarOut(t *testing.T, o native.Options, tol float64) {
	e := native.New(o)
	const mean, std = 40.0, 0.03
	r := math.Atanh((math.Log(std)+5)/3.5 - 1)
	moments, noise := of(e, []float64{mean, r, -mean, r}, 1, 2, 2), of(e, []float64{0.5, 0.5}, 1, 2, 1)
	action := mustNet(t, e, nets.SquashedGaussian{Agents: 1, Actions: 1})
	logProb := mustNet(t, e, nets.SquashedGaussian{Agents: 1, Actions: 1, LogProb: true})
	near(t, "action", values(action.Forward(action.NewWork(2), moments, noise)), []float64{1, -1}, tol)
	w := logProb.NewWork(2)
	got := values(logProb.Forward(w, moments, noise))
	// ln(1 − tanh² u) = 2 ln 2 − 2|u| as far as float64 tells.
	want := func(u float64) float64 {
		return -0.125 - math.Log(std) - math.Log(2*math.Pi)/2 - 2*math.Ln2 + 2*math.Abs(u)
	}
	near(t, "log-probability", got, []float64{want(mean + std/2), want(-mean + std/2)}, tol)
	logProb.Backward(w, of(e, []float64{1, 1}, 1, 2, 1), nets.Inputs)
	g := values(w.GradIn(0))
	near(t, "gradient by the mean", []float64{g[0], g[2]}, []float64{2, -2}, tol)
	noError(t, e)
}

// The gradient of the soft value goes to the smaller critic alone, to the first of equal ones.
func TestSoftValueGradient(t *testing.T) { onBackends(t, checkSoftValue) }

func checkSoftValue(t *testing.T, o native.Options, tol float64) {
	e := native.New(o)
	n := mustNet(t, e, nets.SoftValue{Agents: 1})
	w := n.NewWork(3)
	column := func(v ...float64) nets.Tensor { return of(e, v, 1, 3, 1) }
	v := n.Forward(w, column(1, 5, 2), column(3, 4, 2), column(-1, 2, 0), column(0, math.Log(0.5), 1))
	near(t, "value", values(v), []float64{2, 3, 2}, tol)
	n.Backward(w, column(10, 20, 30), nets.Inputs)
	for i, want := range [][]float64{{10, 0, 30}, {0, 20, 0}, {-10, -10, -30 * math.E}, {10, -20, 0}} {
		near(t, n.Arch().Inputs()[i].Name, values(w.GradIn(i)), want, 10*tol)
	}
	noError(t, e)
}
