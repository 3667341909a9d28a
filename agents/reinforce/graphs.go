package reinforce

import (
	"errors"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/internal/saved"
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

	policyNet, valueNet, targetNet graphs.Pass // without a value the last two are empty
	scorer                         *graphs.Scorer
	gradient                       *graphs.Gradient
	dropout                        rng.Key
	steps                          graphs.Steps
	grad                           []float32

	acting *graphs.Actor
	obs    []*envs.KindObservation
	acts   [][]float32
	probs  []float64
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
	build := func(a nets.Graph, key rng.Key, rate float64) (graphs.Pass, error) {
		return graphs.NewPass(ctx.Train, a, key, nets.Adam{Rate: rate, Clip: c.Clip})
	}
	if m.policyNet, err = build(policy, key.With(0), c.Rate); err != nil {
		return nil, err
	}
	m.scorer = graphs.NewScorer(p, ctx.Train, m.policyNet.Net)
	m.gradient = graphs.NewGradient(m.scorer)
	if c.Baseline == Value {
		if m.valueNet, err = build(value, key.With(1), c.ValueRate); err != nil {
			return nil, err
		}
		if c.TargetTau > 0 {
			if m.targetNet, err = build(value, key.With(1), c.ValueRate); err != nil {
				return nil, err
			}
		}
	}
	if m.acting, err = graphs.NewActor(p, ctx.Act, policy); err != nil {
		return nil, err
	}
	return m, errors.Join(ctx.Train.Err(), ctx.Act.Err())
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
	return m.acting.Sync(m.ctx.Train, m.policyNet.Net)
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
	if n, err = m.fill(m.policyNet.Batch, b.refs[from:]); err != nil {
		return 0, err
	}
	m.steps.Mask = m.steps.Mask[:0]
	for _, p := range b.refs[from : from+n] {
		m.steps.Mask = append(m.steps.Mask, p.t.mask[p.step*m.p.N:(p.step+1)*m.p.N]...)
	}
	m.steps.Choice = b.choice[from*len(m.n) : (from+n)*len(m.n)]
	m.steps.Advantage = b.advantage[from : from+n]
	return n, m.scorer.Begin(m.policyNet.Batch, drop)
}

// drops is the key of an update's dropout, for rows from one on; nil without dropout.
func (m *graphModel) drops(o nets.Optimizer, what, from int) *rng.Key {
	k := graphs.Drops(m.c.Graph, m.dropout, o, what)
	if k != nil {
		*k = k.With(uint64(from))
	}
	return k
}

func (m *graphModel) policyGradient(b *batch) (loss float64, err error) {
	m.policyNet.Net.ZeroGrads()
	for from, n := 0, 0; from < b.rows(); from += n {
		if n, err = m.begin(b, from, m.drops(m.policyNet.Adam, 0, from)); err != nil {
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

// value runs a value network on the first steps, as many as fit.
func (m *graphModel) value(p *graphs.Pass, at []stepRef, drop *rng.Key) ([]float32, error) {
	n, err := m.fill(p.Batch, at)
	if err != nil {
		return nil, err
	}
	return p.Values(n, drop), m.ctx.Train.Err()
}

func (m *graphModel) valueGradient(b *batch) (loss float64, err error) {
	m.valueNet.Net.ZeroGrads()
	own := b.freshRows()
	for from := 0; from < own; from += len(m.grad) {
		out, err := m.value(&m.valueNet, b.refs[from:own], m.drops(m.valueNet.Adam, 1, from))
		if err != nil {
			return 0, err
		}
		m.grad = reuse.Slice(m.grad, len(out))
		for i, v := range out {
			d := float64(v) - float64(b.ret[from+i])
			loss += d * d / float64(own)
			m.grad[i] = float32(2 * d / float64(own))
		}
		m.valueNet.Backward(m.grad)
	}
	return loss, m.ctx.Train.Err()
}

func (m *graphModel) values(target bool, at []stepRef, dst []float32) error {
	p := &m.valueNet
	if target && m.targetNet.Net != nil {
		p = &m.targetNet
	}
	for from := 0; from < len(at); {
		out, err := m.value(p, at[from:], nil)
		if err != nil {
			return err
		}
		from += copy(dst[from:], out)
	}
	return nil
}

func (m *graphModel) optimisers() (policy, value nets.Optimizer) {
	return m.policyNet.Adam, m.valueNet.Adam
}

func (m *graphModel) updateTarget(tau float64) {
	if m.targetNet.Net != nil {
		m.ctx.Train.Lerp(m.targetNet.Net.Params(), m.valueNet.Net.Params(), tau)
	}
}

func (m *graphModel) err() error { return m.ctx.Train.Err() }

func (m *graphModel) weights(p *saved.Parts) {
	p.Weights["policy"] = m.policyNet.Net.Params()
	if m.valueNet.Net != nil {
		p.Weights["value"] = m.valueNet.Net.Params()
	}
	if m.targetNet.Net != nil {
		p.Weights["value_target"] = m.targetNet.Net.Params()
	}
}

func (m *graphModel) policy() (stream string, arch nets.Arch, params nets.Tensor) {
	return graphs.Stream, m.policyNet.Net.Arch(), m.policyNet.Net.Params()
}
