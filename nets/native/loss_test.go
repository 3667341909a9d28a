package native_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// Values and gradients of small cases, calculated by hand.
func TestLossValues(t *testing.T) { onBackends(t, checkLossValues) }

func checkLossValues(t *testing.T, o native.Options, tol float64) {
	e := native.New(o)
	value := e.NewTensor(2)
	check := func(what string, l nets.Loss, wantValue, wantGrad []float64, args ...nets.Tensor) {
		t.Helper()
		grad := e.NewTensor(args[0].Shape()...)
		e.Loss(l, value, grad, args...)
		noError(t, e)
		near(t, what+" value", values(value), wantValue, tol)
		near(t, what+" gradient", values(grad), wantGrad, tol)
	}
	// Two agents, two samples: d = 1, −3 and 0.5, 0.
	x, y := of(e, []float64{1, -1, 2.5, 4}, 2, 2, 1), of(e, []float64{0, 2, 2, 4}, 2, 2, 1)
	check("squared error", nets.SquaredError{}, []float64{5, 0.125}, []float64{1, -3, 0.5, 0}, x, y)
	check("huber", nets.Huber{Delta: 1}, []float64{1.5, 0.0625}, []float64{0.5, -0.5, 0.25, 0}, x, y)
	check("huber with a small delta", nets.Huber{Delta: 0.5}, []float64{0.875, 0.0625},
		[]float64{0.25, -0.25, 0.25, 0}, x, y)
	check("ascent", nets.Ascent{}, []float64{0, -3.25}, []float64{-0.5, -0.5, -0.5, -0.5}, x)
	check("penalty", nets.Penalty{Coef: 0.1}, []float64{0.1, 1.1125}, []float64{0.1, -0.1, 0.25, 0.4}, x)

	// One sample, logits ln 1, ln 3, and ln 4, which is illegal for the first agent: π = ¼, ¾ and ⅛, ⅜, ½.
	logits := of(e, []float64{0, math.Log(3), math.Log(4), 0, math.Log(3), math.Log(4)}, 2, 1, 3)
	mask := of(e, []float64{1, 1, 0, 1, 1, 1}, 2, 1, 3)
	choice, advantage := of(e, []float64{1, 2}, 2, 1, 1), of(e, []float64{2, -1}, 2, 1, 1)
	check("policy gradient", nets.PolicyGradient{}, []float64{-2 * math.Log(0.75), math.Log(0.5)},
		[]float64{0.5, -0.5, 0, -0.125, -0.375, 0.5}, logits, choice, advantage, mask)
	h := -(0.25*math.Log(0.25) + 0.75*math.Log(0.75))
	h2 := -(0.125*math.Log(0.125) + 0.375*math.Log(0.375) + 0.5*math.Log(0.5))
	check("entropy", nets.PolicyGradient{Entropy: 1}, []float64{-h, -h2}, []float64{
		0.25 * (math.Log(0.25) + h), 0.75 * (math.Log(0.75) + h), 0,
		0.125 * (math.Log(0.125) + h2), 0.375 * (math.Log(0.375) + h2), 0.5 * (math.Log(0.5) + h2),
	}, logits, choice, of(e, []float64{0, 0}, 2, 1, 1), mask)
	// r = 1.5 with A = 2 is clipped at 1.2; r = 1.5 with A = −1 is not.
	old := of(e, []float64{math.Log(0.5), math.Log(0.5 / 1.5)}, 2, 1, 1)
	check("clipped surrogate", nets.ClippedSurrogate{Clip: 0.2}, []float64{-2.4, 1.5},
		[]float64{0, 0, 0, -0.1875, -0.5625, 0.75}, logits, choice, advantage, mask, old)
}

// Illegal logits have no effect, even if they are NaN or infinite; a sample without a legal choice adds nothing.
func TestMasks(t *testing.T) { onBackends(t, checkMasks) }

func checkMasks(t *testing.T, o native.Options, tol float64) {
	e := native.New(o)
	inf := math.Inf(1)
	value, grad := e.NewTensor(1), e.NewTensor(1, 3, 3)
	logits := of(e, []float64{0, 0, math.NaN(), 0, inf, 0, math.NaN(), inf, 0}, 1, 3, 3)
	mask := of(e, []float64{1, 1, 0, 1, 0, 1, 0, 0, 0}, 1, 3, 3)
	e.Loss(nets.PolicyGradient{}, value, grad, logits, of(e, []float64{0, 2, 99}, 1, 3, 1),
		of(e, []float64{3, 3, 3}, 1, 3, 1), mask)
	noError(t, e)
	near(t, "value", values(value), []float64{2 * math.Ln2}, tol)
	near(t, "gradient", values(grad), []float64{-0.5, 0.5, 0, 0.5, 0, -0.5, 0, 0, 0}, tol)

	for _, choice := range []float64{2, 3, -1, 0.5, math.NaN()} {
		e.Loss(nets.PolicyGradient{}, value, grad, logits, of(e, []float64{choice, 2, 0}, 1, 3, 1),
			of(e, []float64{3, 3, 3}, 1, 3, 1), mask)
		wantError(t, e.Err(), "Loss: policy gradient: the choice of agent 0 in sample 0 is")
	}
}

// Gradients stay finite where probabilities underflow.
func TestPolicyUnderflow(t *testing.T) { onBackends(t, checkPolicyUnderflow) }

func checkPolicyUnderflow(t *testing.T, o native.Options, _ float64) {
	e := native.New(o)
	value, grad := e.NewTensor(1), e.NewTensor(1, 1, 2)
	e.Loss(nets.PolicyGradient{Entropy: 1}, value, grad, of(e, []float64{500, -500}, 1, 1, 2),
		of(e, []float64{1}, 1, 1, 1), of(e, []float64{2}, 1, 1, 1), of(e, []float64{1, 1}, 1, 1, 2))
	noError(t, e)
	near(t, "value", values(value), []float64{2000}, 0)
	near(t, "gradient", values(grad), []float64{2, -2}, 0)
}
