package sac

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// bench is an update in float64 on a drawn minibatch, with a few absent agents.
type bench struct {
	c Config
	p problem
	u *update
}

func newBench(t *testing.T, shared, autotune bool) *bench {
	t.Helper()
	k := envs.Kind{Name: "agent", Agents: 3, Observation: envs.Unbounded(2), Action: envs.NewBox(2, -3, 1)}
	p := must.Get(newProblem(&envs.Spec{ID: "test/Bench-v1", Kinds: []envs.Kind{k}}))(t)
	c := Default()
	c.Hidden, c.Activation, c.Batch, c.Shared, c.Autotune, c.Alpha = []int{4}, nets.Tanh, 5, shared, autotune, 0.3
	// Learning rates of almost nothing: the weights are still those at which the gradients were taken.
	c.ActorRate, c.CriticRate, c.AlphaRate, c.Tau = 1e-300, 1e-300, 1e-300, 1e-300
	u := must.Get(newUpdate(&c, &p, native.New(native.Options{DType: nets.Float64}), rng.New(1, "bench")))(t)
	s := rng.NewStream(2, "bench")
	for _, x := range []nets.Tensor{u.s, u.a, u.r, u.s2, u.noise, u.noise2} {
		draw(x, s.Norm)
	}
	for _, n := range u.targets { // other weights than the critics'
		draw(n.Params(), s.Norm)
	}
	draw(u.discount, s.Float64)
	draw(u.present, func() float64 { return math.Round(s.Float64()*0.7 + 0.3) })
	return &bench{c, p, u}
}

func draw(t nets.Tensor, f func() float64) {
	x := make([]float64, nets.Size(t))
	for i := range x {
		x[i] = f()
	}
	t.Set64(x)
}

func numbers(t nets.Tensor) []float64 {
	x := make([]float64, nets.Size(t))
	t.Get64(x)
	return x
}

// each returns the objectives of every present agent and sample by the paper's equations, with the networks' outputs
// alone: those of both critics, of the policy and of the temperature, added up as the update's gradients are.
func (b *bench) objectives(target []float64) (critics [2]float64, actor, alpha float64) {
	u := b.u
	present, logAlpha := numbers(u.present), numbers(u.logAlpha.Forward(u.zero))
	a, logProb := u.policy.act(u.s, u.noise)
	lp := numbers(logProb)
	q := [2][]float64{numbers(u.chosenQ[0].Forward(u.s, a)), numbers(u.chosenQ[1].Forward(u.s, a))}
	taken := [2][]float64{numbers(u.takenQ[0].Forward(u.s, u.a)), numbers(u.takenQ[1].Forward(u.s, u.a))}
	n := float64(b.c.Batch)
	for i, here := range present {
		for k := range critics {
			critics[k] += here * (taken[k][i] - target[i]) * (taken[k][i] - target[i]) / n
		}
		actor += here * (math.Exp(logAlpha[i])*lp[i] - min(q[0][i], q[1][i])) / n
		alpha -= here * logAlpha[i] * (lp[i] + b.c.TargetEntropy*float64(b.p.act)) / n
	}
	return critics, actor, alpha
}

// target is y of eq. 6.
func (b *bench) target() []float64 {
	u := b.u
	a, logProb := u.nextPolicy.act(u.s2, u.noise2)
	lp, la := numbers(logProb), numbers(u.logAlpha.Forward(u.zero))
	q1, q2 := numbers(u.nextQ[0].Forward(u.s2, a)), numbers(u.nextQ[1].Forward(u.s2, a))
	r, d := numbers(u.r), numbers(u.discount)
	y := make([]float64, len(r))
	for i := range y {
		y[i] = r[i] + d[i]*(min(q1[i], q2[i])-math.Exp(la[i])*lp[i])
	}
	return y
}

// The gradients of one update are those of the paper's objectives, by finite differences: of both critics, of the
// policy through the smaller critic, and of the temperature; absent agents have no part in them.
func TestGradientsAreThePapers(t *testing.T) {
	for _, shared := range []bool{false, true} {
		b := newBench(t, shared, true)
		y := b.target()
		must.Do(t, b.u.run())
		type part struct {
			name string
			net  nets.Net
			of   func(critics [2]float64, actor, alpha float64) float64
		}
		for _, x := range []part{
			{"critic 1", b.u.critics[0], func(c [2]float64, _, _ float64) float64 { return c[0] }},
			{"critic 2", b.u.critics[1], func(c [2]float64, _, _ float64) float64 { return c[1] }},
			{"actor", b.u.actor, func(_ [2]float64, a, _ float64) float64 { return a }},
			{"temperature", b.u.temperature, func(_ [2]float64, _, a float64) float64 { return a }},
		} {
			got, w := numbers(x.net.Grads()), numbers(x.net.Params())
			scale := 0.0
			for _, g := range got {
				scale = max(scale, math.Abs(g))
			}
			if scale == 0 {
				t.Errorf("%s has no gradient", x.name)
			}
			for i, v := range w {
				at := func(h float64) float64 {
					w[i] = v + h
					x.net.Params().Set64(w)
					return x.of(b.objectives(y))
				}
				const h = 1e-5
				want := (at(h) - at(-h)) / (2 * h)
				at(0)
				if math.Abs(got[i]-want) > 1e-6*(scale+1) {
					t.Errorf("shared %v: %s: gradient %d is %g, want %g", shared, x.name, i, got[i], want)
				}
			}
		}
	}
}

// With a fixed temperature the update leaves it as it is.
func TestFixedTemperature(t *testing.T) {
	b := newBench(t, false, false)
	before := numbers(b.u.temperature.Params())
	b.u.alphaAdam.SetRate(1)
	must.Do(t, b.u.run())
	if after := numbers(b.u.temperature.Params()); !slices.Equal(before, after) {
		t.Errorf("the temperature moved from %v to %v", before, after)
	}
	if a := b.u.alpha(); math.Abs(a-0.3) > 1e-7 {
		t.Errorf("the temperature is %g, want 0.3", a)
	}
}
