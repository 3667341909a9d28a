package reinforce

import (
	"errors"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// graphModel is the model of environments whose agents observe a graph and choose in several steps. Policy and value
// are separate networks. Sizes differ from step to step, so nothing is recorded, and the loss is differentiated on the
// host.
type graphModel struct {
	c   *Config
	ctx *agents.Context
	p   *graphs.Problem
	n   []int // choices by component

	policyNet, valueNet, targetNet graphPass // without a value the last two are empty
	policyAdam, valueAdam          nets.Optimizer
	scorer                         *graphs.Scorer
	gradient                       *graphs.Gradient
	dropout                        rng.Key
	steps                          graphs.Steps
	out, grad                      []float32

	acting *graphs.Actor
	net    nets.GraphNet
	params []float32 // buffer of syncActor
	obs    []*envs.KindObservation
	acts   [][]float32
	probs  []float64
}

// graphPass is a net with memory for one forward and backward pass over graphs.
type graphPass struct {
	net   nets.GraphNet
	work  nets.GraphWork
	batch *nets.GraphBatch
}

func newGraphs(c *Config, ctx *agents.Context) (*graphModel, error) {
	p, err := graphs.NewProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	m := &graphModel{
		c: c, ctx: ctx, p: p, dropout: rng.New(ctx.Seed, "reinforce: dropout"),
		obs: make([]*envs.KindObservation, ctx.Copies), acts: make([][]float32, ctx.Copies),
	}
	for _, k := range p.Components {
		m.n = append(m.n, k.N)
	}
	key := rng.New(ctx.Seed, "reinforce: initial weights")
	policy, value := p.Policy(c.Graph, c.FinalBound), p.Value(c.Graph)
	if m.policyNet, m.policyAdam, err = m.newPass(policy, key.With(0), c.Rate); err != nil {
		return nil, err
	}
	m.scorer = graphs.NewScorer(p, ctx.Train, m.policyNet.net)
	m.gradient = graphs.NewGradient(m.scorer)
	if c.Baseline == Value {
		if m.valueNet, m.valueAdam, err = m.newPass(value, key.With(1), c.ValueRate); err != nil {
			return nil, err
		}
		if c.TargetTau > 0 {
			if m.targetNet, _, err = m.newPass(value, key.With(1), c.ValueRate); err != nil {
				return nil, err
			}
		}
	}
	if m.net, err = ctx.Act.NewGraphNet(policy); err != nil {
		return nil, err
	}
	m.acting, m.params = graphs.NewActor(p, ctx.Act, m.net), make([]float32, nets.Size(m.net.Params()))
	return m, errors.Join(ctx.Train.Err(), ctx.Act.Err())
}

func (m *graphModel) newPass(a nets.Graph, key rng.Key, rate float64) (p graphPass, adam nets.Optimizer, err error) {
	if err := a.Validate(); err != nil {
		return p, nil, err
	}
	if p.net, err = m.ctx.Train.NewGraphNet(a); err != nil {
		return p, nil, err
	}
	p.work, p.batch = p.net.NewWork(), nets.NewGraphBatch(a)
	p.net.Params().Set(nets.InitialParams(a, key))
	adam, err = m.ctx.Train.NewAdam(p.net, nets.Adam{Rate: rate, Clip: m.c.Clip})
	return p, adam, err
}

func (m *graphModel) kind() *envs.Kind              { return m.p.Kind }
func (m *graphModel) components() []int             { return m.n }
func (m *graphModel) newObservations() observations { return graphObservations{graphs.NewList(m.p)} }

// graphObservations are the graphs that an agent saw.
type graphObservations struct{ *graphs.List }

func (o graphObservations) rows() int { return o.Len() }
func (o graphObservations) clear()    { o.Clear() }

func (m *graphModel) record(s observations, o *envs.KindObservation, agent int) {
	s.(graphObservations).Append(o.Graphs[agent])
}

func (m *graphModel) act(v *envs.Vector, s *rng.Stream, logp []float32, teacher *imitation) error {
	for i := range m.obs {
		m.obs[i], m.acts[i] = &v.Obs.Env(i).Kinds[0], v.Act.Env(i).Kinds[0]
	}
	clear(logp)
	return m.acting.Run(m.obs, m.acts, func(row, component int, scores []float32, mask []bool) int {
		m.probs = reuse.Slice(m.probs, len(scores))
		choice.Softmax(m.probs, scores, mask)
		c := choice.None
		if t := teacher.action(row); t == nil {
			c = choice.Draw(m.probs, s.Float64())
		} else if mask[int(t[component])] {
			c = int(t[component])
		}
		if c != choice.None {
			logp[row] += float32(portable.Log(max(m.probs[c], 1e-300)))
		}
		return c
	})
}

func (m *graphModel) legal(row int) []bool { return m.acting.Mask[row*m.p.N : (row+1)*m.p.N] }

func (m *graphModel) syncActor() error {
	return learning.CopyParams(m.ctx.Train, m.policyNet.net, m.ctx.Act, m.net, m.params)
}

// fill adds what was observed at the first steps to a batch of graphs and returns how many steps it took.
func (m *graphModel) fill(b *nets.GraphBatch, at []stepRef) (int, error) {
	n := min(m.c.Rows, len(at))
	b.Reset()
	for _, p := range at[:n] {
		if err := p.t.obs.(graphObservations).AddTo(b, p.step); err != nil {
			return 0, err
		}
	}
	b.Seal()
	return n, nil
}

// begin runs the policy on the batch's rows from one on, and returns how many it took.
func (m *graphModel) begin(b *batch, from int, drop *rng.Key) (n int, err error) {
	if n, err = m.fill(m.policyNet.batch, b.refs[from:]); err != nil {
		return 0, err
	}
	m.steps.Mask = m.steps.Mask[:0]
	for _, p := range b.refs[from : from+n] {
		m.steps.Mask = append(m.steps.Mask, p.t.mask[p.step*m.p.N:(p.step+1)*m.p.N]...)
	}
	m.steps.Choice = b.choice[from*len(m.n) : (from+n)*len(m.n)]
	m.steps.Advantage = b.advantage[from : from+n]
	return n, m.scorer.Begin(m.policyNet.batch, drop)
}

// drops is the key of an update's dropout, for rows from one on; nil without dropout.
func (m *graphModel) drops(o nets.Optimizer, what, from int) *rng.Key {
	if m.c.Graph.Dropout == 0 {
		return nil
	}
	k := m.dropout.With(uint64(what)).With(uint64(o.Steps())).With(uint64(from))
	return &k
}

func (m *graphModel) policyGradient(b *batch) (loss float64, err error) {
	m.policyNet.net.ZeroGrads()
	for from, n := 0, 0; from < b.rows(); from += n {
		if n, err = m.begin(b, from, m.drops(m.policyAdam, 0, from)); err != nil {
			return 0, err
		}
		part, err := m.gradient.Policy(m.steps, 1/float64(b.rows()), m.c.Entropy)
		if err != nil {
			return 0, err
		}
		loss += part
	}
	return loss, nil
}

func (m *graphModel) logProbs(b *batch, dst []float32) error {
	for from, n := 0, 0; from < b.rows(); from += n {
		var err error
		if n, err = m.begin(b, from, nil); err != nil {
			return err
		}
		if err := m.gradient.LogProb(m.steps, dst[from:from+n]); err != nil {
			return err
		}
	}
	return nil
}

// value runs a value network on the first steps, as many as fit, and leaves their values in out.
func (m *graphModel) value(p *graphPass, at []stepRef, drop *rng.Key) (n int, err error) {
	if n, err = m.fill(p.batch, at); err != nil {
		return 0, err
	}
	p.net.Forward(p.work, p.batch, drop)
	m.out = reuse.Slice(m.out, n)
	p.net.Head(p.work, 0, nil, nil).Get(m.out)
	return n, m.ctx.Train.Err()
}

func (m *graphModel) valueGradient(b *batch) (loss float64, err error) {
	m.valueNet.net.ZeroGrads()
	own := b.freshRows()
	for from, n := 0, 0; from < own; from += n {
		if n, err = m.value(&m.valueNet, b.refs[from:own], m.drops(m.valueAdam, 1, from)); err != nil {
			return 0, err
		}
		m.grad = reuse.Slice(m.grad, n)
		for i, v := range m.out {
			d := float64(v) - float64(b.ret[from+i])
			loss += d * d / float64(own)
			m.grad[i] = float32(2 * d / float64(own))
		}
		m.valueNet.work.GradOut(0).Set(m.grad)
		m.valueNet.net.Backward(m.valueNet.work)
	}
	return loss, m.ctx.Train.Err()
}

func (m *graphModel) values(target bool, at []stepRef, dst []float32) error {
	p := &m.valueNet
	if target && m.targetNet.net != nil {
		p = &m.targetNet
	}
	for from, n := 0, 0; from < len(at); from += n {
		var err error
		if n, err = m.value(p, at[from:], nil); err != nil {
			return err
		}
		copy(dst[from:], m.out)
	}
	return nil
}

func (m *graphModel) optimisers() (policy, value nets.Optimizer) { return m.policyAdam, m.valueAdam }

func (m *graphModel) updateTarget(tau float64) {
	if m.targetNet.net != nil {
		m.ctx.Train.Lerp(m.targetNet.net.Params(), m.valueNet.net.Params(), tau)
	}
}

func (m *graphModel) err() error { return m.ctx.Train.Err() }

func (m *graphModel) weights(p *saved.Parts) {
	p.Weights["policy"] = m.policyNet.net.Params()
	if m.valueNet.net != nil {
		p.Weights["value"] = m.valueNet.net.Params()
	}
	if m.targetNet.net != nil {
		p.Weights["value_target"] = m.targetNet.net.Params()
	}
}

func (m *graphModel) policy() (stream string, arch nets.Arch, params nets.Tensor) {
	return graphs.Stream, m.policyNet.net.Arch(), m.policyNet.net.Params()
}
