package maddpg

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// form is a configuration whose update is tested.
type form struct {
	name string
	set  func(*Config)
	toyOptions
}

func forms() []form {
	three := toyOptions{agents: 3, sequence: [][]int{{1}, {0, 2}, {1}}}
	choices := three
	choices.choices = true
	absent := three
	absent.absence = true
	absentChoices := choices
	absentChoices.absence = true
	return []form{
		{"attention", func(*Config) {}, three},
		{"attention squared", func(c *Config) { c.Score = nets.Squared }, three},
		{"attention shared", func(c *Config) { c.Shared = true }, three},
		{"attention, others from replay", func(c *Config) { c.Others = Batch }, three},
		{"attention, absent", func(c *Config) { c.Absent = true }, absent},
		{"attention, choices", func(*Config) {}, choices},
		{"attention, layer norm, tanh", func(c *Config) { c.Norm, c.Activation = nets.LayerNorm, nets.Tanh }, three},
		{"mean", func(c *Config) { c.Mix = Mean }, three},
		{"joint", func(c *Config) { c.Mix = Joint }, three},
		{"joint, others from policies", func(c *Config) { c.Mix, c.Others = Joint, Policy }, three},
		{"joint, choices", func(c *Config) { c.Mix = Joint }, choices},
		{"joint, choices, absent", func(c *Config) { c.Mix, c.Absent = Joint, true }, absentChoices},
		{"single", func(c *Config) { c.Mix = Single }, three},
		{"single, choices", func(c *Config) { c.Mix = Single }, choices},
		{"none", func(c *Config) { c.Mix = None }, three},
	}
}

// small is a configuration whose update is fast to test. It has no clipping, so that gradients are the loss's, and
// relaxed choices, so that they are differentiable.
func small() Config {
	c := Default()
	c.Hidden, c.Keys, c.Batch, c.Clip, c.Hard, c.LogitPenalty = []int{7, 5}, 3, 6, 0, false, 0.03
	c.ActorRate, c.CriticRate, c.Tau = 1e-3, 2e-3, 0.05
	return c
}

// bench is an update with a random minibatch, in float64 by default.
type bench struct {
	t *testing.T
	c Config
	p problem
	u *update
	s *rng.Stream
}

func newBench(t *testing.T, f form) *bench { return newBenchIn(t, f, nets.Float64) }

func newBenchIn(t *testing.T, f form, d nets.DType) *bench {
	t.Helper()
	b := &bench{t: t, c: small(), s: rng.NewStream(5, f.name)}
	f.set(&b.c)
	var err error
	if b.p, err = newProblem(b.c.Mix, newToy(f.toyOptions).Spec()); err != nil {
		t.Fatal(err)
	}
	if b.u, err = newUpdate(&b.c, &b.p, native.New(native.Options{DType: d, Debug: true}),
		rng.New(1, f.name)); err != nil {
		t.Fatal(err)
	}
	u := b.u
	for _, x := range []nets.Tensor{u.s, u.a, u.r, u.s2, u.noise, u.noise2, u.actorTarget.Params(),
		u.criticTarget.Params()} {
		if x != nil {
			b.randomise(x, func() float64 { return b.s.Norm() })
		}
	}
	b.randomise(u.discount, func() float64 { return 0.9 * float64(b.s.IntN(2)) })
	if u.present.error != nil {
		on, onA, onNext := make([]float64, nets.Size(u.r)), make([]float64, nets.Size(u.a)), make([]float64, nets.Size(u.a))
		for i := range on {
			on[i] = float64(b.s.IntN(2))
			for k := range b.p.act {
				onA[i*b.p.act+k], onNext[i*b.p.act+k] = on[i], float64(i%2)
			}
		}
		u.present.error.on.Set64(on)
		u.present.action.on.Set64(onA)
		u.present.next.on.Set64(onNext)
	}
	return b
}

func (b *bench) randomise(x nets.Tensor, f func() float64) {
	v := make([]float64, nets.Size(x))
	for i := range v {
		v[i] = f()
	}
	x.Set64(v)
}

func get(x nets.Tensor) []float64 {
	v := make([]float64, nets.Size(x))
	x.Get64(v)
	return v
}

// on is a mask's values, or ones without a mask.
func (b *bench) on(m *mask, n int) []float64 {
	if m != nil {
		return get(m.on)
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// times multiplies a tensor by numbers, into a new tensor.
func (b *bench) times(x nets.Tensor, by []float64) nets.Tensor {
	v := get(x)
	for i := range v {
		v[i] *= by[i]
	}
	out := b.u.e.NewTensor(x.Shape()...)
	out.Set64(v)
	return out
}

// targets is y of eq. 3, computed by the formula.
func (b *bench) targets() []float64 {
	u := b.u
	a2 := b.times(u.targetPolicy.act(u.s2, u.noise2), b.on(u.present.next, nets.Size(u.a)))
	q2, y, d := get(u.targetQ.Forward(u.s2, a2)), get(u.r), get(u.discount)
	for i := range y {
		y[i] += d[i] * q2[i]
	}
	return y
}

// criticLoss is Σ over agents of ℓ(θ) at the present critic.
func (b *bench) criticLoss(y []float64) float64 {
	q, on := get(b.u.q(&b.u.takenQ, b.u.a)), b.on(b.u.present.error, len(y))
	var sum float64
	for i := range q {
		sum += on[i] * (q[i] - y[i]) * (q[i] - y[i])
	}
	return sum / float64(b.c.Batch)
}

// actorLoss is Σ over agents of −J and the penalty, at the present actor and critic.
func (b *bench) actorLoss() float64 {
	u := b.u
	onA := b.on(u.present.action, nets.Size(u.a))
	a := b.times(u.policy.act(u.s, u.noise), onA)
	var sum float64
	on := b.on(u.present.error, nets.Size(u.r))
	for i, q := range get(u.q(&u.chosenQ, a)) {
		sum -= on[i] * q
	}
	for i, x := range get(u.policy.logits) {
		sum += b.c.LogitPenalty * onA[i] * x * x / float64(b.p.act)
	}
	return sum / float64(b.c.Batch)
}

// matches compares a gradient with central differences of loss, for some coordinates and along a random direction.
func (b *bench) matches(what string, params nets.Tensor, grad []float64, loss func() float64) {
	b.t.Helper()
	const h = 1e-6
	p := get(params)
	defer params.Set64(p)
	slope := func(dir []float64) float64 {
		at := make([]float64, len(p))
		value := func(h float64) float64 {
			for i := range at {
				at[i] = p[i] + h*dir[i]
			}
			params.Set64(at)
			return loss()
		}
		return (value(h) - value(-h)) / (2 * h)
	}
	dir, want := make([]float64, len(p)), 0.0
	largest := 0.0
	for i := range dir {
		dir[i] = b.s.Norm()
		want += dir[i] * grad[i]
		largest = max(largest, math.Abs(grad[i]))
	}
	if got := slope(dir); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
		b.t.Errorf("%s: along a random direction the loss has slope %g, the gradient gives %g", what, got, want)
	}
	if largest == 0 {
		b.t.Errorf("%s: the gradient is zero", what)
	}
	for range 60 {
		i := b.s.IntN(len(p))
		clear(dir)
		dir[i] = 1
		if got := slope(dir); math.Abs(got-grad[i]) > 1e-6*(1+largest) {
			b.t.Errorf("%s: for parameter %d the loss has slope %g, the gradient gives %g", what, i, got, grad[i])
		}
	}
}

// TestGradients compares the gradients of both steps with finite differences of the losses, computed by their formulas.
func TestGradients(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			b := newBench(t, f)
			u := b.u
			y, before := b.targets(), get(u.critic.Params())
			must.Do(t, u.run())
			for i, got := range get(u.y) {
				if math.Abs(got-y[i]) > 1e-12 {
					t.Errorf("y[%d] is %g, want %g", i, got, y[i])
				}
			}
			gc, ga := get(u.critic.Grads()), get(u.actor.Grads())
			after, actor := get(u.critic.Params()), get(u.actor.Params())

			u.critic.Params().Set64(before)
			b.matches("critic", u.critic.Params(), gc, func() float64 { return b.criticLoss(y) })

			// The actor's gradient was taken at the critic after its step and at the actor before its own.
			u.critic.Params().Set64(after)
			for i, g := range ga { // undo Adam's first step, p −= rate·g/(|g| + ε)
				actor[i] += b.c.ActorRate * g / (math.Abs(g) + 1e-8)
			}
			u.actor.Params().Set64(actor)
			b.matches("actor", u.actor.Params(), ga, b.actorLoss)
			must.Do(t, u.e.Err())
		})
	}
}

// TestStepAndTargets checks the use of the gradients: Adam's first step and the soft target update, by their formulas.
func TestStepAndTargets(t *testing.T) {
	b := newBench(t, forms()[0])
	u := b.u
	pairs := []struct {
		name            string
		net, target     nets.Net
		rate            float64
		before, before2 []float64
	}{
		{"critic", u.critic, u.criticTarget, b.c.CriticRate, get(u.critic.Params()), get(u.criticTarget.Params())},
		{"actor", u.actor, u.actorTarget, b.c.ActorRate, get(u.actor.Params()), get(u.actorTarget.Params())},
	}
	must.Do(t, u.run())
	for _, n := range pairs {
		g, p, target := get(n.net.Grads()), get(n.net.Params()), get(n.target.Params())
		for i := range p {
			if want := n.before[i] - n.rate*g[i]/(math.Abs(g[i])+1e-8); math.Abs(p[i]-want) > 1e-12 {
				t.Errorf("%s: parameter %d became %g, want %g", n.name, i, p[i], want)
			}
			if want := n.before2[i] + b.c.Tau*(p[i]-n.before2[i]); math.Abs(target[i]-want) > 1e-12 {
				t.Errorf("%s: target %d became %g, want %g", n.name, i, target[i], want)
			}
		}
	}
}

// TestByHand is one update small enough to do on paper: one agent, no hidden layers, batch 1.
//
//	Q(s, a) = 0.5s₁ + 0.25s₂ + 2a₁ − a₂ + 1,  π(s) = sigmoid(0) = (½, ½) at weights 0
//	s = (1, 2), a = (0.25, 0.75), r = 3, s' = (−1, 1), γ = 0.5
//	Q(s, a) = 0.5 + 0.5 + 0.5 − 0.75 + 1 = 1.75
//	y = 3 + 0.5·(−0.5 + 0.25 + 1 − 0.5 + 1) = 3.625
//	dℓ/dQ = 2(1.75 − 3.625) = −3.75, so dℓ/dθ = −3.75·(1, 2, 0.25, 0.75, 1)
//
// The critic then moves by the rate 0.1 against the sign: θ = (0.6, 0.35, 2.1, −0.9, 1.1). −J has the gradient (−2.1,
// 0.9) with respect to the action, and ¼ of it with respect to π's logits: (−0.525, 0.225), times s = (1, 2) for the
// weights.
func TestByHand(t *testing.T) {
	c := small()
	c.Mix, c.Hidden, c.Batch, c.CriticRate, c.ActorRate = None, nil, 1, 0.1, 0.1
	p := must.Get(newProblem(c.Mix, newToy(toyOptions{agents: 1}).Spec()))(t)
	u := must.Get(newUpdate(&c, &p, native.New(native.Options{DType: nets.Float64}), rng.New(1, "by hand")))(t)
	theta := []float64{0.5, 0.25, 2, -1, 1}
	u.critic.Params().Set64(theta)
	u.criticTarget.Params().Set64(theta)
	u.actor.Params().Set64(make([]float64, 6))
	u.actorTarget.Params().Set64(make([]float64, 6))
	u.s.Set64([]float64{1, 2})
	u.a.Set64([]float64{0.25, 0.75})
	u.r.Set64([]float64{3})
	u.s2.Set64([]float64{-1, 1})
	u.discount.Set64([]float64{0.5})
	must.Do(t, u.run())
	for _, k := range []struct {
		name string
		got  nets.Tensor
		want []float64
	}{
		{"y", u.y, []float64{3.625}},
		{"critic loss", u.tdError.Value, []float64{1.875 * 1.875}},
		{"critic gradient", u.critic.Grads(), []float64{-3.75, -7.5, -0.9375, -2.8125, -3.75}},
		{"critic", u.critic.Params(), []float64{0.6, 0.35, 2.1, -0.9, 1.1}},
		{"actor loss", u.ascent.Value, []float64{-(0.6 + 0.7 + 1.05 - 0.45 + 1.1)}},
		{"actor gradient", u.actor.Grads(), []float64{-0.525, 0.225, -1.05, 0.45, -0.525, 0.225}},
		{"actor", u.actor.Params(), []float64{0.1, -0.1, 0.1, -0.1, 0.1, -0.1}},
	} {
		for i, got := range get(k.got) {
			if math.Abs(got-k.want[i]) > 1e-7 {
				t.Errorf("%s[%d] is %g, want %g", k.name, i, got, k.want[i])
			}
		}
	}
}
