package graphs

import (
	"errors"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// ModelConfig says how a [Model] is made.
type ModelConfig struct {
	Net Net
	// FinalBound is that of [Problem.Policy].
	FinalBound float64
	// Rows is the number of graphs in one forward pass. It changes speed and rounding, not what is computed.
	Rows int
	// Policy and Value configure the optimisers. Without Value there is no value; Target adds a target network to it.
	Policy nets.Adam
	Value  *nets.Adam
	Target bool
	// Weights draws the initial weights, Dropout what gradient steps drop.
	Weights, Dropout rng.Key
}

// Pass is a network over graphs with its optimiser, and memory for one forward and backward pass.
type Pass struct {
	Net   nets.GraphNet
	Work  nets.GraphWork
	Batch *nets.GraphBatch
	Adam  nets.Optimizer

	out []float32
}

// newPass builds a network on an engine, with initial weights that follow from key.
func newPass(e nets.Engine, a nets.Graph, key rng.Key, c nets.Adam) (p Pass, err error) {
	if err := a.Validate(); err != nil {
		return p, err
	}
	if p.Net, err = e.NewGraphNet(a); err != nil {
		return p, err
	}
	p.Work, p.Batch = p.Net.NewWork(), nets.NewGraphBatch(a)
	p.Net.Params().Set(nets.InitialParams(a, key))
	p.Adam, err = e.NewAdam(p.Net, c)
	return p, err
}

// values runs a network that [Problem.Value] described on the n graphs in Batch. The slice is overwritten by the next call.
func (p *Pass) values(n int, drop *rng.Key) []float32 {
	p.Net.Forward(p.Work, p.Batch, drop)
	p.out = reuse.Slice(p.out, n)
	p.Net.Head(p.Work, 0, nil, nil).Get(p.out)
	return p.out
}

// Model is what a learner over graphs learns: a policy and, where it learns one, a value, as separate networks whose
// weights all agents share. Sizes differ from step to step, so nothing is recorded, and losses are differentiated on the
// host.
type Model struct {
	Problem *Problem
	// Choices are the numbers of choices of each component.
	Choices []int
	// Policy and Value learn; Target begins as a copy of Value and follows it. Those that there are none of are empty.
	Policy, Value, Target Pass
	// Gradient differentiates the policy on the graphs of the last Begin.
	Gradient *Gradient

	c      ModelConfig
	train  nets.Engine
	scorer *Scorer
	grad   []float32 // by each value

	acting *Actor
	obs    []*envs.KindObservation
	acts   [][]float32
	probs  []float64
	pick   Pick // draws from draws, and adds to logp
	draws  []*rng.Stream
	logp   []float32
	taught func(row int) []float32
}

// NewModel makes the networks for ctx's environment on its engines. It fails as [NewProblem] does.
func NewModel(c ModelConfig, ctx *agents.Context) (*Model, error) {
	p, err := NewProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	m := &Model{
		Problem: p, c: c, train: ctx.Train,
		obs: make([]*envs.KindObservation, ctx.NumEnvs), acts: make([][]float32, ctx.NumEnvs),
	}
	for _, k := range p.Components {
		m.Choices = append(m.Choices, k.N)
	}
	policy, value := p.Policy(c.Net, c.FinalBound), p.Value(c.Net)
	if m.Policy, err = newPass(ctx.Train, policy, c.Weights.With(0), c.Policy); err != nil {
		return nil, err
	}
	for _, v := range []struct {
		pass *Pass
		on   bool
	}{{&m.Value, c.Value != nil}, {&m.Target, c.Value != nil && c.Target}} {
		if !v.on {
			continue
		}
		if *v.pass, err = newPass(ctx.Train, value, c.Weights.With(1), *c.Value); err != nil {
			return nil, err
		}
	}
	m.scorer = NewScorer(p, ctx.Train, m.Policy.Net)
	m.Gradient, m.pick = NewGradient(m.scorer), m.draw
	if m.acting, err = NewActor(p, ctx.Act, policy); err != nil {
		return nil, err
	}
	return m, errors.Join(ctx.Train.Err(), ctx.Act.Err())
}

// Act draws the choices of all agents of v, those of copy i from s[i], and writes their ln π by row: agent j of copy i is
// row i·Agents + j. Where taught is not nil, a row does as it says, or as the policy draws where it says nil.
func (m *Model) Act(v *envs.Vector, s []*rng.Stream, logp []float32, taught func(row int) []float32) error {
	for i := range m.obs {
		m.obs[i], m.acts[i] = &v.Obs.Env(i).Kinds[0], v.Act.Env(i).Kinds[0]
	}
	clear(logp)
	m.draws, m.logp, m.taught = s, logp, taught
	return m.acting.Run(m.obs, m.acts, m.pick)
}

// draw is one choice of an agent.
func (m *Model) draw(row, component int, scores []float32, mask []bool) int {
	m.probs = reuse.Slice(m.probs, len(scores))
	choice.Softmax(m.probs, scores, mask)
	var taught []float32
	if m.taught != nil {
		taught = m.taught(row)
	}
	c := choice.None
	if taught == nil {
		c = choice.Draw(m.probs, m.draws[row/m.Problem.Agents].Float64())
	} else if mask[int(taught[component])] {
		c = int(taught[component])
	}
	if c != choice.None {
		m.logp[row] += float32(portable.Log(max(m.probs[c], least)))
	}
	return c
}

// Legal is what was legal for all rows in the last Act, over all components, each after the choices before it: [rows, N].
func (m *Model) Legal() []bool { return m.acting.Mask }

// Sync copies the policy to the network that acts.
func (m *Model) Sync() error { return m.acting.Sync(m.train, m.Policy.Net) }

// Seen says where graph i lies: in which list, and at which place.
type Seen func(i int) (*List, int)

func (m *Model) fill(b *nets.GraphBatch, from, n int, at Seen) error {
	b.Reset()
	for i := from; i < from+n; i++ {
		l, k := at(i)
		if err := l.AddTo(b, k); err != nil {
			return err
		}
	}
	b.Seal()
	return nil
}

// Begin runs the policy on n graphs, from one on, for [Gradient]. drop draws dropout; nil leaves it out.
func (m *Model) Begin(from, n int, at Seen, drop *rng.Key) error {
	if err := m.fill(m.Policy.Batch, from, n, at); err != nil {
		return err
	}
	return m.scorer.Begin(m.Policy.Batch, drop)
}

// Drop is the key of the dropout of a gradient step of Policy or Value; nil without dropout.
func (m *Model) Drop(p *Pass) *rng.Key {
	if m.c.Net.Dropout == 0 {
		return nil
	}
	what := uint64(0)
	if p == &m.Value {
		what = 1
	}
	k := m.c.Dropout.With(what).With(uint64(p.Adam.Steps()))
	return &k
}

// Values writes the values of len(dst) graphs, by Value or Target.
func (m *Model) Values(p *Pass, at Seen, dst []float32) error {
	for from := 0; from < len(dst); from += m.c.Rows {
		n := min(m.c.Rows, len(dst)-from)
		if err := m.fill(p.Batch, from, n, at); err != nil {
			return err
		}
		copy(dst[from:], p.values(n, nil))
	}
	return m.train.Err()
}

// AddValueGradient adds the gradient of a loss of n graphs' values, from one on, to Value's: slope is the loss's
// derivative by the value v of graph i.
func (m *Model) AddValueGradient(from, n int, at Seen, drop *rng.Key, slope func(i int, v float64) float64) error {
	if err := m.fill(m.Value.Batch, from, n, at); err != nil {
		return err
	}
	m.grad = reuse.Slice(m.grad, n)
	for i, v := range m.Value.values(n, drop) {
		m.grad[i] = float32(slope(from+i, float64(v)))
	}
	m.Value.Work.GradOut(0).Set(m.grad)
	m.Value.Net.Backward(m.Value.Work)
	return m.train.Err()
}

// Err is the first error of the engine on which the networks learn.
func (m *Model) Err() error { return m.train.Err() }

// Optimisers are those of the policy and, where there is one, of the value.
func (m *Model) Optimisers() []nets.Optimizer {
	if m.Value.Adam == nil {
		return []nets.Optimizer{m.Policy.Adam}
	}
	return []nets.Optimizer{m.Policy.Adam, m.Value.Adam}
}

// UpdateTarget moves the target network, where there is one: θ' ← θ' + τ(θ − θ').
func (m *Model) UpdateTarget(tau float64) {
	if m.Target.Net != nil {
		m.train.Lerp(m.Target.Net.Params(), m.Value.Net.Params(), tau)
	}
}

// Learned is the policy's architecture and weights.
func (m *Model) Learned() (nets.Arch, nets.Tensor) { return m.Policy.Net.Arch(), m.Policy.Net.Params() }

// Save adds networks and optimisers to a state, with a prefix to their names.
func (m *Model) Save(p *saved.Parts, prefix string) {
	p.Net(prefix+"policy", m.Policy.Net, m.Policy.Adam)
	if m.Value.Net != nil {
		p.Net(prefix+"value", m.Value.Net, m.Value.Adam)
	}
	if m.Target.Net != nil {
		p.Weights[prefix+"value_target"] = m.Target.Net.Params()
	}
}
