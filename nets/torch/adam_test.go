//go:build libtorch

package torch

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

// plainAdam is package nets' equation as a loop in float64.
type plainAdam struct {
	c          nets.Adam
	p, m, v    []float64
	norms      []float64
	groups, at int
}

func (a *plainAdam) step(grads []float64) {
	a.at++
	n := len(grads) / a.groups
	for g := range a.groups {
		norm := 0.0
		for _, v := range grads[g*n:][:n] {
			norm += v * v
		}
		a.norms[g] = math.Sqrt(norm)
		clip := 1.0
		if a.c.Clip > 0 {
			clip = min(1, a.c.Clip/(a.norms[g]+1e-6))
		}
		for i := g * n; i < (g+1)*n; i++ {
			d := clip * grads[i]
			a.m[i] = a.c.Beta1*a.m[i] + (1-a.c.Beta1)*d
			a.v[i] = a.c.Beta2*a.v[i] + (1-a.c.Beta2)*d*d
			rate := a.c.Rate / (1 - math.Pow(a.c.Beta1, float64(a.at)))
			a.p[i] -= rate * a.m[i] / (math.Sqrt(a.v[i])/math.Sqrt(1-math.Pow(a.c.Beta2, float64(a.at))) + a.c.Epsilon)
		}
	}
}

func TestAdamIsItsEquation(t *testing.T) {
	for _, c := range []nets.Adam{{Rate: 0.01}, {Rate: 0.1, Clip: 0.8},
		{Rate: 0.05, Beta1: 0.5, Beta2: 0.9, Epsilon: 1e-3, Clip: 100}} {
		e := newEngine(t, nets.Float64)
		n := must.Get(e.NewNet(architectures()["mlp tanh, shared false"]))(t)
		size := nets.Size(n.Params())
		start := draws("start", size)
		n.Params().Set64(start)
		adam := must.Get(e.NewAdam(n, c))(t)
		want := plainAdam{c: c.WithDefaults(), p: start, m: make([]float64, size), v: make([]float64, size),
			norms: make([]float64, 3), groups: 3}
		for i := range 4 {
			if i == 2 {
				adam.SetRate(0.5)
				want.c.Rate = 0.5
			}
			grads := draws(string(rune('a'+i)), size)
			clear(grads[:size/3]) // a group whose norm is below the clip
			n.Grads().Set64(grads)
			adam.Advance()
			adam.Step()
			want.step(grads)
			near(t, "norms", values(adam.Norms()), want.norms, 1e-14)
			near(t, "gradients stay", values(n.Grads()), grads, 0)
		}
		ok(t, e)
		near(t, "parameters", values(n.Params()), want.p, 1e-13)
		m, v := adam.Moments()
		near(t, "first moments", values(m), want.m, 1e-13)
		near(t, "second moments", values(v), want.v, 1e-13)
	}
}

func TestAdamIsRestoredToTheBit(t *testing.T) {
	e := newEngine(t, nets.Float32)
	build := func() (nets.Net, nets.Optimizer) {
		n := must.Get(e.NewNet(architectures()["mlp tanh, shared true"]))(t)
		adam := must.Get(e.NewAdam(n, nets.Adam{Rate: 0.01, Clip: 0.5}))(t)
		return n, adam
	}
	run := func(n nets.Net, a nets.Optimizer, from, to int) {
		for i := from; i < to; i++ {
			n.Grads().Set64(draws(string(rune('a'+i)), nets.Size(n.Grads())))
			a.Advance()
			a.Step()
		}
	}
	n, a := build()
	run(n, a, 0, 3)
	n2, a2 := build()
	m, v := a.Moments()
	m2, v2 := a2.Moments()
	for _, pair := range [][2]nets.Tensor{{m2, m}, {v2, v}, {n2.Params(), n.Params()}} {
		pair[0].Set64(values(pair[1]))
	}
	a2.SetSteps(a.Steps())
	run(n, a, 3, 6)
	run(n2, a2, 3, 6)
	ok(t, e)
	near(t, "parameters", values(n2.Params()), values(n.Params()), 0)
	if a2.Steps() != 6 {
		t.Errorf("%d steps, want 6", a2.Steps())
	}
}

func TestANormThatIsNoNumberSpoilsItsGroupAlone(t *testing.T) {
	e := newEngine(t, nets.Float32)
	n := must.Get(e.NewNet(architectures()["mlp tanh, shared false"]))(t)
	a := must.Get(e.NewAdam(n, nets.Adam{Rate: 0.01, Clip: 1}))(t)
	grads := draws("g", nets.Size(n.Grads()))
	grads[0] = math.NaN()
	n.Grads().Set64(grads)
	a.Advance()
	a.Step()
	ok(t, e)
	p := values(n.Params())
	if size := len(p) / 3; !math.IsNaN(p[size-1]) || math.IsNaN(p[size]) {
		t.Errorf("group 0 ends with %g, group 1 begins with %g", p[size-1], p[size])
	}
}

func TestAdamReportsMisuse(t *testing.T) {
	e, other := newEngine(t, nets.Float32), newEngine(t, nets.Float32)
	n := must.Get(e.NewNet(architectures()["one agent"]))(t)
	if _, err := other.NewAdam(n, nets.Adam{Rate: 1}); err == nil {
		t.Error("took another engine's net")
	}
	for _, c := range []nets.Adam{{Rate: -1}, {Rate: math.NaN()}, {Beta1: 1}, {Beta2: -1}, {Epsilon: -1}, {Clip: -1}} {
		if _, err := e.NewAdam(n, c); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	a := must.Get(e.NewAdam(n, nets.Adam{Rate: 1}))(t)
	for says, f := range map[string]func(){
		"want Advance before": a.Step,
		"after -1 steps":      func() { a.SetSteps(-1) },
		"rate -2":             func() { a.SetRate(-2) },
		"rate +Inf":           func() { a.SetRate(math.Inf(1)) },
	} {
		f()
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
}
