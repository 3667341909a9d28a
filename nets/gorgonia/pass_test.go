package gorgonia

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/rng"
)

// Gradients are compared with finite differences in nets/engines.

// subject is a network with random parameters, inputs and gradient w.r.t. its output.
type subject struct {
	net  nets.Net
	work nets.Work
	in   []nets.Tensor
	g    nets.Tensor
}

func newSubject(t testing.TB, e nets.Engine, a nets.Arch, batch int) subject {
	t.Helper()
	s := rng.NewStream(1, "subject")
	drawn := func(shape ...int) nets.Tensor {
		x := make([]float64, product(shape))
		for i := range x {
			x[i] = 0.7 * s.Norm()
		}
		return of(e, x, shape...)
	}
	n := must.Get(e.NewNet(a))(t)
	x := subject{net: n, work: n.NewWork(batch), g: drawn(a.AgentCount(), batch, a.Output().Width)}
	e.Copy(n.Params(), drawn(n.Params().Shape()...))
	for _, p := range a.Inputs() {
		x.in = append(x.in, drawn(a.AgentCount(), batch, p.Width))
	}
	noError(t, e)
	return x
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (x subject) forward() []float64 { return values(x.net.Forward(x.work, x.in...)) }

// Params and Inputs give the same gradients as Both. Params adds to gradients, Inputs overwrites them. A second
// backward pass uses the same forward pass. No pass changes parameters or inputs, and another engine gives the same bits.
func TestPasses(t *testing.T) {
	for name, a := range netstest.Archs() {
		t.Run(name, func(t *testing.T) {
			e := newTest(t, nets.Float64)
			x, y := newSubject(t, e, a, 4), newSubject(t, newTest(t, nets.Float64), a, 4)
			near(t, "output again", x.forward(), y.forward(), 0)
			x.net.Backward(x.work, x.g, nets.Both)
			y.net.Backward(y.work, y.g, nets.Both)
			params := values(x.net.Grads())
			near(t, "gradient again", values(y.net.Grads()), params, 0)
			near(t, "parameters after a pass", values(x.net.Params()), values(newSubject(t, e, a, 4).net.Params()), 0)
			var inputs [][]float64
			for i := range x.in {
				inputs = append(inputs, values(x.work.GradIn(i)))
				near(t, "inputs after a pass", values(x.in[i]), values(y.in[i]), 0)
			}
			x.net.Backward(x.work, x.g, nets.Inputs)
			near(t, "Inputs leaves parameters", values(x.net.Grads()), params, 0)
			for i := range x.in {
				near(t, "Inputs sets", values(x.work.GradIn(i)), inputs[i], 0)
				x.work.GradIn(i).Set64(make([]float64, len(inputs[i])))
			}
			x.net.Backward(x.work, x.g, nets.Params)
			for i := range params {
				params[i] *= 2
			}
			near(t, "Params adds", values(x.net.Grads()), params, 1e-13)
			for i := range x.in {
				near(t, "Params leaves inputs", values(x.work.GradIn(i)), make([]float64, len(inputs[i])), 0)
			}
			x.net.ZeroGrads()
			near(t, "ZeroGrads", values(x.net.Grads()), make([]float64, len(params)), 0)
			noError(t, e)
		})
	}
}

// Two forward passes of one net before either backward pass do not affect each other.
func TestTwoWorks(t *testing.T) {
	e := newTest(t, nets.Float64)
	a := netstest.Archs()["attention others self exp"]
	x := newSubject(t, e, a, 4)
	x.forward()
	x.net.Backward(x.work, x.g, nets.Params)
	want := values(x.net.Grads())
	x.forward()
	second := newSubject(t, e, a, 6)
	x.net.Forward(x.net.NewWork(6), second.in...)
	x.net.ZeroGrads()
	x.net.Backward(x.work, x.g, nets.Params)
	noError(t, e)
	near(t, "gradient with a pass between", values(x.net.Grads()), want, 0)
}

// Concurrent passes with a Work each give the same numbers, without data races.
func TestConcurrentForward(t *testing.T) {
	for _, name := range []string{"mlp norm", "attention self exp shared", "gumbel"} {
		e := newTest(t, nets.Float32)
		x := newSubject(t, e, netstest.Archs()[name], 3)
		want := x.forward()
		got := make([][]float64, 4)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				w := x.net.NewWork(3)
				for range 5 {
					got[i] = values(x.net.Forward(w, x.in...))
				}
			})
		}
		wg.Wait()
		noError(t, e)
		for i := range got {
			near(t, name, got[i], want, 0)
		}
	}
}

// Of equal values the first is chosen, noise of −Inf excludes a choice, and a NaN makes its whole segment NaN.
func TestHardChoice(t *testing.T) {
	e := newTest(t, nets.Float64)
	n := must.Get(e.NewNet(nets.GumbelSoftmax{Agents: 1, Segments: []int{3, 2}, Temperature: 0.5, Hard: true}))(t)
	w, inf, nan := n.NewWork(2), math.Inf(1), math.NaN()
	y := values(n.Forward(w, of(e, []float64{1, 1, 0, 0, nan, 9, 1, 1, 2, 3}, 1, 2, 5),
		of(e, []float64{0, 0, 0, 0, 0, -inf, 0, 0, 0, 0}, 1, 2, 5)))
	noError(t, e)
	near(t, "choices", slices.Concat(y[:3], y[5:]), []float64{1, 0, 0, 0, 1, 0, 0, 1}, 0)
	if !math.IsNaN(y[3]) || !math.IsNaN(y[4]) {
		t.Errorf("a choice with a NaN is %v", y[3:5])
	}
	n.Backward(w, of(e, []float64{0, 0, 0, 0, 0, 4, 5, 6, 0, 0}, 1, 2, 5), nets.Inputs)
	noError(t, e)
	g := values(w.GradIn(0))
	near(t, "gradient without the one ruled out", g[5:8], []float64{0, -0.5, 0.5}, 1e-12)
}

// Logits that differ much, within a row and between rows, do not overflow.
func TestSoftmaxRange(t *testing.T) {
	e := newTest(t, nets.Float32)
	n := must.Get(e.NewNet(nets.GumbelSoftmax{Agents: 1, Segments: []int{2}, Temperature: 1}))(t)
	logits := []float64{9000, 0, 0, 0, -1e9, -1e9, 0, 9000}
	y := n.Forward(n.NewWork(4), of(e, logits, 1, 4, 2), e.NewTensor(1, 4, 2))
	noError(t, e)
	near(t, "softmax", values(y), []float64{1, 0, 0.5, 0.5, 0.5, 0.5, 0, 1}, 0)
}

// NaN in an input affects its own sample only, and float32 results agree with float64 to seven digits.
func TestNumbers(t *testing.T) {
	for name, a := range netstest.Archs() {
		e := newTest(t, nets.Float64)
		x, single := newSubject(t, e, a, 3), newSubject(t, newTest(t, nets.Float32), a, 3)
		clean := x.forward()
		near(t, name+" in float32", single.forward(), clean, 1e-5)
		in := values(x.in[0])
		in[0] = math.NaN() // agent 0, sample 0
		x.in[0].Set64(in)
		got := x.forward()
		noError(t, e)
		if !math.IsNaN(got[0]) {
			t.Errorf("%s: NaN in an input gives %g", name, got[0])
		}
		for i := range got {
			if sample := i / a.Output().Width % 3; sample != 0 && got[i] != clean[i] {
				t.Errorf("%s: NaN in sample 0 changed sample %d", name, sample)
			}
		}
	}
}
