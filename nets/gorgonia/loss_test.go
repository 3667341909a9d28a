package gorgonia

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"
)

// Values and gradients of small cases, worked out by hand.
func TestLossValues(t *testing.T) {
	e := newTest(t, nets.Float64)
	value := e.NewTensor(2)
	check := func(what string, l nets.Loss, wantValue, wantGrad []float64, args ...nets.Tensor) {
		t.Helper()
		grad := e.NewTensor(args[0].Shape()...)
		e.Loss(l, value, grad, args...)
		noError(t, e)
		near(t, what+" value", values(value), wantValue, 1e-12)
		near(t, what+" gradient", values(grad), wantGrad, 1e-12)
	}
	// Two agents, two samples: d = 1, −3 and 0.5, 0.
	x, y := of(e, []float64{1, -1, 2.5, 4}, 2, 2, 1), of(e, []float64{0, 2, 2, 4}, 2, 2, 1)
	check("squared error", nets.SquaredError{}, []float64{5, 0.125}, []float64{1, -3, 0.5, 0}, x, y)
	check("huber", nets.Huber{Delta: 1}, []float64{1.5, 0.0625}, []float64{0.5, -0.5, 0.25, 0}, x, y)
	check("huber with a small delta", nets.Huber{Delta: 0.5}, []float64{0.875, 0.0625},
		[]float64{0.25, -0.25, 0.25, 0}, x, y)
	check("ascent", nets.Ascent{}, []float64{0, -3.25}, []float64{-0.5, -0.5, -0.5, -0.5}, x)
	check("penalty", nets.Penalty{Coef: 0.1}, []float64{0.1, 1.1125}, []float64{0.1, -0.1, 0.25, 0.4}, x)

	// π = ¼, ¾ where the third choice is illegal, and ⅛, ⅜, ½.
	logits := of(e, []float64{0, math.Log(3), math.NaN(), 0, math.Log(3), math.Log(4)}, 2, 1, 3)
	mask := of(e, []float64{1, 1, 0, 1, 1, 1}, 2, 1, 3)
	choice, advantage := of(e, []float64{1, 2}, 2, 1, 1), of(e, []float64{2, -1}, 2, 1, 1)
	check("policy gradient", nets.PolicyGradient{}, []float64{-2 * math.Log(0.75), math.Log(0.5)},
		[]float64{0.5, -0.5, 0, -0.125, -0.375, 0.5}, logits, choice, advantage, mask)
	// r = 1.5 with A = 2 is clipped at 1.2; r = 1.5 with A = −1 is not.
	old := of(e, []float64{math.Log(0.5), math.Log(0.5 / 1.5)}, 2, 1, 1)
	check("clipped surrogate", nets.ClippedSurrogate{Clip: 0.2}, []float64{-2.4, 1.5},
		[]float64{0, 0, 0, -0.1875, -0.5625, 0.75}, logits, choice, advantage, mask, old)
}

// Gradients stay finite where probabilities underflow, and Huber's gradient is exact for large differences.
func TestLossTails(t *testing.T) {
	e := newTest(t, nets.Float32)
	value, grad := e.NewTensor(1), e.NewTensor(1, 1, 2)
	e.Loss(nets.PolicyGradient{Entropy: 1}, value, grad, of(e, []float64{500, -500}, 1, 1, 2),
		of(e, []float64{1}, 1, 1, 1), of(e, []float64{2}, 1, 1, 1), of(e, []float64{1, 1}, 1, 1, 2))
	near(t, "value", values(value), []float64{2000}, 0)
	near(t, "gradient", values(grad), []float64{2, -2}, 0)
	e.Loss(nets.Huber{Delta: 0.5}, value, grad, of(e, []float64{1e25, -1e25}, 1, 1, 2), of(e, []float64{0, 0}, 1, 1, 2))
	noError(t, e)
	near(t, "gradient", values(grad), []float64{0.25, -0.25}, 0)
	if v := values(value)[0]; math.Abs(v-5e24) > 1e18 {
		t.Errorf("value %g, want 5e24", v)
	}
}

// An illegal choice is an error, but for a sample without legal choices the choice is not read.
func TestChoices(t *testing.T) {
	e := newTest(t, nets.Float64)
	value, grad := e.NewTensor(1), e.NewTensor(1, 2, 3)
	mask := of(e, []float64{1, 1, 0, 0, 0, 0}, 1, 2, 3)
	for _, choice := range []float64{2, 3, -1, 0.5, math.NaN(), 0} {
		e.Loss(nets.PolicyGradient{}, value, grad, e.NewTensor(1, 2, 3), of(e, []float64{choice, 99}, 1, 2, 1),
			of(e, []float64{3, 3}, 1, 2, 1), mask)
		err := e.Err()
		if choice == 0 {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "the choice of agent 0 in sample 0 is") {
			t.Errorf("choice %g: error %v", choice, err)
		}
	}
	near(t, "gradient", values(grad), []float64{-0.75, 0.75, 0, 0, 0, 0}, 1e-12)
}

// A loss with other constants or shapes gets its own graph; other values of the args do not.
func TestLossesAreKeptApart(t *testing.T) {
	e := newTest(t, nets.Float64)
	value := e.NewTensor(1)
	for range 2 {
		for n, coef := range map[int]float64{1: 0.5, 2: 3} {
			x := of(e, []float64{2, -2, 2}[:n], 1, 1, n)
			e.Loss(nets.Penalty{Coef: coef}, value, e.NewTensor(1, 1, n), x)
			near(t, "penalty", values(value), []float64{4 * coef}, 1e-14)
		}
	}
	noError(t, e)
	if n := len(e.(*engine[float64]).back.losses); n != 2 {
		t.Errorf("%d graphs were made, want 2", n)
	}
}
