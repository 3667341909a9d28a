package engines

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Sizes of the scenarios: odd, and small enough for the slowest engine.
const (
	agents, batch, states, actions = 3, 6, 4, 3
	// rate is as small as learners use: the actor's gradient passes through critics that have made their step, and
	// those may differ by a part of it.
	rate = 1e-4
	// seed is one at which no gradient all but cancels, since Adam makes a full step of whatever rounding
	// leaves, and no squared scores are all but zero, where they and their offset lose digits.
	seed = 9
)

// scenario is a whole update: MADDPG's where there is a critic, else a policy's own loss.
type scenario struct {
	actor, critic nets.Arch
	head          *nets.GumbelSoftmax
	others        bool      // the critic has a port for the others' actions
	loss          nets.Loss // the critic's, or the policy's
	clip          float64
}

// kind says how a result may differ between engines.
type kind int

const (
	gradient  kind = iota // in parts of the largest of its vector
	parameter             // in steps of the learning rate
)

// result is one vector that an update leaves.
type result struct {
	name   string
	kind   kind
	values []float64
}

// bench holds what a scenario makes on an engine.
type bench struct {
	t testing.TB
	e nets.Engine
	s *rng.Stream
}

func (b *bench) net(a nets.Arch, number uint64) nets.Net {
	b.t.Helper()
	n, err := b.e.NewNet(a)
	if err != nil {
		b.t.Fatal(err)
	}
	n.Params().Set(nets.InitialParams(a, rng.New(seed, "agreement").With(number)))
	return n
}

func (b *bench) adam(n nets.Net, clip float64) nets.Optimizer {
	b.t.Helper()
	o, err := b.e.NewAdam(n, nets.Adam{Rate: rate, Clip: clip})
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

// column returns random numbers of [agents, batch, width], rounded to float32 so that both formats start alike.
func (b *bench) column(width int, draw func() float64) nets.Tensor {
	x := make([]float64, agents*batch*width)
	for i := range x {
		x[i] = float64(float32(draw()))
	}
	t := b.e.NewTensor(agents, batch, width)
	t.Set64(x)
	return t
}

func (b *bench) gumbel() float64 { return -math.Log(-math.Log(b.s.Open())) }

func (b *bench) read(name string, k kind, t nets.Tensor) result {
	x := make([]float64, nets.Size(t))
	t.Get64(x)
	return result{name, k, x}
}

// run does the recorded update and returns what it leaves after each of the given numbers of times, which ascend.
func (c scenario) run(t testing.TB, e nets.Engine, updates ...int) (out [][]result) {
	t.Helper()
	b := &bench{t, e, rng.NewStream(seed, "agreement")}
	build := c.maddpg
	if c.critic == nil {
		build = c.policy
	}
	update, optimisers, read := build(b)
	recorded := e.Record("agreement", update)
	done := 0
	for _, n := range updates {
		for ; done < n; done++ {
			for _, o := range optimisers {
				o.Advance()
			}
			must.Do(t, recorded.Run())
		}
		out = append(out, read())
	}
	must.Do(t, e.Err())
	return out
}

// maddpg is agents/maddpg's update: critic step, actor step, soft targets.
func (c scenario) maddpg(b *bench) (update func(), optimisers []nets.Optimizer, read func() []result) {
	e := b.e
	actor, actorTarget := b.net(c.actor, 1), b.net(c.actor, 2)
	critic, criticTarget := b.net(c.critic, 3), b.net(c.critic, 4)
	actorAdam, criticAdam := b.adam(actor, c.clip), b.adam(critic, c.clip)
	wa, wat := actor.NewWork(batch), actorTarget.NewWork(batch)
	taken, chosen, next := critic.NewWork(batch), critic.NewWork(batch), criticTarget.NewWork(batch)

	s, s2, a := b.column(states, b.s.Norm), b.column(states, b.s.Norm), b.column(actions, b.s.Float64)
	r, discount := b.column(1, b.s.Norm), b.column(1, func() float64 { return 0.9 * float64(b.s.IntN(2)) })
	noise, noise2 := b.column(actions, b.gumbel), b.column(actions, b.gumbel)
	y, dq, dlogits := e.NewTensor(agents, batch, 1), e.NewTensor(agents, batch, 1), e.NewTensor(agents, batch, actions)
	criticLoss, actorLoss, penalty, sums := e.NewTensor(agents), e.NewTensor(agents), e.NewTensor(agents),
		e.NewTensor(agents)

	var head nets.Net
	var wh, wht nets.Work
	if c.head != nil {
		head = b.net(*c.head, 5)
		wh, wht = head.NewWork(batch), head.NewWork(batch)
	}
	policy := func(n nets.Net, w, wh nets.Work, s, noise nets.Tensor) (action, logits nets.Tensor) {
		logits = n.Forward(w, s)
		if head == nil {
			return logits, logits
		}
		return head.Forward(wh, logits, noise), logits
	}
	q := func(n nets.Net, w nets.Work, s, a, others nets.Tensor) nets.Tensor {
		if c.others {
			return n.Forward(w, s, a, others)
		}
		return n.Forward(w, s, a)
	}
	wa.GradIn(0) // to be read after the update
	for i := range c.critic.Inputs() {
		chosen.GradIn(i)
	}
	update = func() {
		a2, _ := policy(actorTarget, wat, wht, s2, noise2)
		e.TDTarget(y, r, discount, q(criticTarget, next, s2, a2, a2))
		e.Loss(c.loss, criticLoss, dq, q(critic, taken, s, a, a), y)
		critic.ZeroGrads()
		critic.Backward(taken, dq, nets.Params)
		criticAdam.Step()

		now, logits := policy(actor, wa, wh, s, noise)
		e.Loss(nets.Ascent{}, actorLoss, dq, q(critic, chosen, s, now, a))
		critic.Backward(chosen, dq, nets.Inputs)
		actor.ZeroGrads()
		if head == nil {
			actor.Backward(wa, chosen.GradIn(1), nets.Both)
		} else {
			head.Backward(wh, chosen.GradIn(1), nets.Inputs)
			e.Loss(nets.Penalty{Coef: 0.01}, penalty, dlogits, logits)
			e.Add(dlogits, 1, wh.GradIn(0))
			actor.Backward(wa, dlogits, nets.Both)
		}
		actorAdam.Step()
		e.Lerp(criticTarget.Params(), critic.Params(), 0.01)
		e.Lerp(actorTarget.Params(), actor.Params(), 0.01)
		e.Add(sums, 0.5, criticLoss)
	}
	read = func() []result {
		out := []result{
			b.read("critic gradient", gradient, critic.Grads()), b.read("actor gradient", gradient, actor.Grads()),
			b.read("actor's gradient by states", gradient, wa.GradIn(0)), b.read("TD target", gradient, y),
			b.read("critic loss", gradient, criticLoss), b.read("actor loss", gradient, actorLoss),
			b.read("sums", gradient, sums),
			b.read("critic norms", gradient, criticAdam.Norms()), b.read("actor norms", gradient, actorAdam.Norms()),
			b.read("critic", parameter, critic.Params()), b.read("actor", parameter, actor.Params()),
			b.read("critic target", parameter, criticTarget.Params()), b.read("actor target", parameter, actorTarget.Params()),
		}
		for i := range c.critic.Inputs() {
			out = append(out, b.read("critic's gradient by input", gradient, chosen.GradIn(i)))
		}
		m, v := criticAdam.Moments()
		return append(out, b.read("first moment", gradient, m), b.read("second moment", gradient, v))
	}
	return update, []nets.Optimizer{actorAdam, criticAdam}, read
}

// policy is a policy's step on its own loss, with masks.
func (c scenario) policy(b *bench) (update func(), optimisers []nets.Optimizer, read func() []result) {
	n := b.net(c.actor, 1)
	adam, w := b.adam(n, c.clip), n.NewWork(batch)
	s, advantage := b.column(states, b.s.Norm), b.column(1, b.s.Norm)
	choices := make([]float64, agents*batch)
	for i := range choices {
		choices[i] = float64(b.s.IntN(actions))
	}
	choice, at := b.column(1, func() float64 { return 0 }), 0
	choice.Set64(choices)
	mask := b.column(actions, func() float64 {
		legal := b.s.Float64() < 0.5 || int(choices[at/actions]) == at%actions
		if at++; legal {
			return 1
		}
		return 0
	})
	old := b.column(1, func() float64 { return -1 + 0.3*b.s.Norm() })
	value, grad := b.e.NewTensor(agents), b.e.NewTensor(agents, batch, actions)
	w.GradIn(0) // to be read after the update
	update = func() {
		logits := n.Forward(w, s)
		if slices.Contains(c.loss.Args(), nets.ArgLogProb) {
			b.e.Loss(c.loss, value, grad, logits, choice, advantage, mask, old)
		} else {
			b.e.Loss(c.loss, value, grad, logits, choice, advantage, mask)
		}
		n.ZeroGrads()
		n.Backward(w, grad, nets.Both)
		adam.Step()
	}
	read = func() []result {
		return []result{
			b.read("loss", gradient, value), b.read("gradient by logits", gradient, grad),
			b.read("gradient", gradient, n.Grads()),
			b.read("gradient by states", gradient, w.GradIn(0)), b.read("norms", gradient, adam.Norms()),
			b.read("policy", parameter, n.Params()),
		}
	}
	return update, []nets.Optimizer{adam}, read
}
