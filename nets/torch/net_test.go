//go:build libtorch

package torch

import (
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
)

func TestGradientsAreThoseOfFiniteDifferences(t *testing.T) {
	all := must.Get(netstest.Gradients(newEngine(t, nets.Float64), 1))(t)
	for _, g := range all {
		if !(g.Error <= 1e-8) {
			t.Error(g)
		}
	}
}

func TestBackwardAddsToParamsAndSetsInputs(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, a nets.Arch) {
		e := newEngine(t, nets.Float64)
		p := newPass(t, e, a, 3)
		out := p.net.Forward(p.work, p.in...)
		g := random(e, "g", out.Shape()...)
		p.net.Backward(p.work, g, nets.Params)
		once := values(p.net.Grads())
		p.net.Backward(p.work, g, nets.Inputs)
		in := values(p.work.GradIn(0))
		near(t, "Inputs leave the parameters' gradients", values(p.net.Grads()), once, 0)
		p.net.Forward(p.work, p.in...)
		p.net.Backward(p.work, g, nets.Both)
		near(t, "inputs, again", values(p.work.GradIn(0)), in, 0)
		for i := range once {
			once[i] *= 2
		}
		near(t, "parameters, added", values(p.net.Grads()), once, 1e-15)
		p.net.ZeroGrads()
		p.net.Backward(p.work, g, nets.Params)
		for i := range once {
			once[i] /= 2
		}
		near(t, "parameters, after ZeroGrads", values(p.net.Grads()), once, 0)
		ok(t, e)
	})
}

func TestOneNetRunsTwiceBeforeGoingBack(t *testing.T) {
	e := newEngine(t, nets.Float64)
	a := architectures()["attentionexp, others false, shared false"]
	p := newPass(t, e, a, 2)
	second := p.net.NewWork(2)
	other := []nets.Tensor{random(e, "s2", 3, 2, 3), random(e, "a2", 3, 2, 2)}
	g := random(e, "g", 3, 2, 2)
	apart := make([]float64, nets.Size(p.net.Grads()))
	for _, in := range [][]nets.Tensor{p.in, other} {
		p.net.ZeroGrads()
		p.net.Forward(p.work, in...)
		p.net.Backward(p.work, g, nets.Params)
		for i, v := range values(p.net.Grads()) {
			apart[i] += v
		}
	}
	p.net.ZeroGrads()
	p.net.Forward(p.work, p.in...)
	p.net.Forward(second, other...)
	p.net.Backward(second, g, nets.Params)
	p.net.Backward(p.work, g, nets.Params)
	ok(t, e)
	near(t, "both passes", values(p.net.Grads()), apart, 1e-14)
}

func TestForwardRunsOnSeveralGoroutines(t *testing.T) {
	e := newEngine(t, nets.Float32)
	p := newPass(t, e, architectures()["attentionexp, others false, shared false"], 4)
	want := values(p.net.Forward(p.work, p.in...))
	var all sync.WaitGroup
	works := make([]nets.Work, 4)
	for i := range works {
		works[i] = p.net.NewWork(4)
	}
	outs := make([]nets.Tensor, len(works))
	for i, w := range works {
		all.Go(func() {
			for range 50 {
				outs[i] = p.net.Forward(w, p.in...)
			}
		})
	}
	all.Wait()
	ok(t, e)
	for _, out := range outs {
		near(t, "on a goroutine", values(out), want, 0)
	}
}

func TestParametersMayNotChangeBetweenForwardAndBackward(t *testing.T) {
	e := newEngine(t, nets.Float64)
	p := newPass(t, e, architectures()["one agent"], 2)
	out := p.net.Forward(p.work, p.in...)
	g := random(e, "g", out.Shape()...)
	for _, when := range []string{"without a graph", "with one"} {
		p.net.Forward(p.work, p.in...)
		e.Lerp(p.net.Params(), p.net.Grads(), 0.5)
		p.net.Backward(p.work, g, nets.Params)
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), "Backward") {
			t.Errorf("%s: error %v, want one of Backward", when, err)
		}
	}
}

func TestHardGumbelIsOneHotWithTheSoftGradient(t *testing.T) {
	e := newEngine(t, nets.Float64)
	soft := nets.GumbelSoftmax{Agents: 1, Segments: []int{3, 2}, Temperature: 0.5}
	hard := soft
	hard.Hard = true
	logits := []float64{1, 3, 3, 2, 2, 0, -1, 0, 5, 6} // of equal values the first is chosen
	var grads [2][]float64
	for i, a := range []nets.Arch{soft, hard} {
		n := must.Get(e.NewNet(a))(t)
		w := n.NewWork(2)
		out := n.Forward(w, made(e, logits, 1, 2, 5), e.NewTensor(1, 2, 5))
		if i == 1 {
			near(t, "choices", values(out), []float64{0, 1, 0, 1, 0, 1, 0, 0, 0, 1}, 0)
		}
		n.Backward(w, random(e, "g", 1, 2, 5), nets.Inputs)
		ok(t, e)
		grads[i] = values(w.GradIn(0))
		near(t, "noise has the logits' gradient", values(w.GradIn(1)), grads[i], 0)
	}
	near(t, "straight-through", grads[1], grads[0], 0)
}

// MeanField's output is that of plain loops over agents, samples and neighbours, written from package nets'
// description.
func TestAttentionIsThatOfTheDescription(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, a nets.Arch) {
		f, is := a.(nets.MeanField)
		if !is {
			t.Skip("no mean field")
		}
		e := newEngine(t, nets.Float64)
		const batch = 2
		p := newPass(t, e, a, batch)
		got := values(p.net.Forward(p.work, p.in...))
		ok(t, e)
		var in [][]float64
		for _, x := range p.in {
			in = append(in, values(x))
		}
		near(t, "output", got, reference(f, values(p.net.Params()), in, batch), 1e-12)
	})
}
