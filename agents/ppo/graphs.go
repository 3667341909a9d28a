package ppo

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// graphNets is the model of agents that observe graphs and choose in components. They share their weights. Sizes differ
// from step to step, so nothing is recorded.
type graphNets struct {
	c   *Config
	ctx *agents.Context
	p   *graphs.Problem
	n   []int // choices by component

	policy, value graphs.Pass
	scorer        *graphs.Scorer
	derivative    *graphs.Gradient
	dropout       rng.Key
	steps         graphs.Steps
	choice        []float32
	logp, slope   []float32
	grad          []float32

	acting *graphs.Actor
	seen   []*envs.KindObservation
	acts   [][]float32
	probs  []float64
	pick   graphs.Pick // draws from draws into did
	draws  *rng.Stream
	did    *decision
}

// graphRows are the graphs that agents saw.
type graphRows struct{ *graphs.List }

func (r graphRows) begin(*envs.KindObservation) {}

func (r graphRows) add(o *envs.KindObservation, agent int) { r.Append(o.Graphs[agent]) }
func (r graphRows) size() int                              { return r.Len() }
func (r graphRows) clear()                                 { r.Clear() }

func newGraphs(c *Config, ctx *agents.Context, key rng.Key) (*graphNets, error) {
	p, err := graphs.NewProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	if !c.Shared && p.Agents > 1 {
		return nil, fmt.Errorf("%s: %d agents observe graphs: they share their weights, want shared: true", ctx.Spec.ID,
			p.Agents)
	}
	m := &graphNets{
		c: c, ctx: ctx, p: p, dropout: rng.New(ctx.Seed, "ppo: dropout"),
		seen: make([]*envs.KindObservation, ctx.Copies), acts: make([][]float32, ctx.Copies),
	}
	for _, k := range p.Components {
		m.n = append(m.n, k.N)
	}
	policy, adam := p.Policy(c.Graph, 0.01), nets.Adam{Rate: c.Rate, Clip: c.Clip, Epsilon: 1e-5}
	if m.policy, err = graphs.NewPass(ctx.Train, policy, key.With(0), adam); err != nil {
		return nil, err
	}
	if m.value, err = graphs.NewPass(ctx.Train, p.Value(c.Graph), key.With(1), adam); err != nil {
		return nil, err
	}
	m.scorer = graphs.NewScorer(p, ctx.Train, m.policy.Net)
	m.derivative = graphs.NewGradient(m.scorer)
	if m.acting, err = graphs.NewActor(p, ctx.Act, policy); err != nil {
		return nil, err
	}
	m.pick = m.draw
	return m, errors.Join(ctx.Train.Err(), ctx.Act.Err())
}

func (m *graphNets) newRows() graphRows { return graphRows{graphs.NewList(m.p)} }

// part is the policy.
func (m *graphNets) part(*Config) actor.Part {
	return actor.Part{Kind: actor.Kind{Head: actor.Softmax, Network: actor.Network{Arch: m.policy.Net.Arch()}},
		Params: m.policy.Net.Params()}
}

// act implements [model].
func (m *graphNets) act(w world, s *rng.Stream, d *decision) error {
	for i := range m.seen {
		m.seen[i], m.acts[i] = w.seen(i), w.act(i)
	}
	m.draws, m.did = s, d
	clear(d.logp)
	err := m.acting.Run(m.seen, m.acts, m.pick)
	copy(d.mask, m.acting.Mask)
	return err
}

// draw is one choice of an agent.
func (m *graphNets) draw(row, component int, scores []float32, mask []bool) int {
	m.probs = reuse.Slice(m.probs, len(scores))
	choice.Softmax(m.probs, scores, mask)
	c := choice.Draw(m.probs, m.draws.Float64())
	if c != choice.None {
		m.did.logp[row] += float32(portable.Log(max(m.probs[c], least)))
		m.did.action[row*len(m.n)+component] = float32(c)
	}
	return c
}

// fill makes a batch of some graphs.
func (m *graphNets) fill(b *nets.GraphBatch, from observations, list []int32) error {
	b.Reset()
	for _, s := range list {
		if err := from.(graphRows).AddTo(b, int(s)); err != nil {
			return err
		}
	}
	b.Seal()
	return nil
}

// graphsAtOnce is the number of graphs whose values are computed together. It changes speed and rounding alone.
const graphsAtOnce = 256

// values implements [model].
func (m *graphNets) values(obs observations, rows []int32, dst []float32) error {
	var list []int32
	for from := 0; from < len(rows); from += graphsAtOnce {
		list = list[:0]
		for i := from; i < min(from+graphsAtOnce, len(rows)); i++ {
			list = append(list, int32(i))
		}
		if err := m.fill(m.value.Batch, obs, list); err != nil {
			return err
		}
		copy(dst[from:], m.value.Values(len(list), nil))
	}
	return m.ctx.Train.Err()
}

// step implements [model].
func (m *graphNets) step(b *batch, c *Config, sums *metrics) error {
	if err := m.policyGradient(b, c, sums); err != nil {
		return err
	}
	if err := m.valueGradient(b, c, sums); err != nil {
		return err
	}
	for i, o := range m.optimisers() {
		o.Advance()
		o.Step()
		var norm [1]float32
		o.Norms().Get(norm[:])
		*[]*float64{&sums.policyNorm, &sums.valueNorm}[i] += float64(norm[0])
	}
	return m.ctx.Train.Err()
}

// policyGradient leaves the gradient of the policy's loss. Where the surrogate is not clipped its gradient is that of
// −r·A·ln π with r·A held fixed, which [graphs.Gradient] has.
func (m *graphNets) policyGradient(b *batch, c *Config, sums *metrics) error {
	list := b.samples[0]
	if err := m.fill(m.policy.Batch, b.buf.obs, list); err != nil {
		return err
	}
	m.steps.Mask, m.choice = m.steps.Mask[:0], m.choice[:0]
	for _, s := range list {
		m.steps.Mask = append(m.steps.Mask, b.buf.mask[int(s)*m.p.N:int(s+1)*m.p.N]...)
		m.choice = append(m.choice, b.buf.action[int(s)*len(m.n):int(s+1)*len(m.n)]...)
	}
	m.steps.Choice = m.choice
	if err := m.scorer.Begin(m.policy.Batch, graphs.Drops(m.c.Graph, m.dropout, m.policy.Adam, 0)); err != nil {
		return err
	}
	m.logp, m.slope = reuse.Slice(m.logp, len(list)), reuse.Slice(m.slope, len(list))
	if err := m.derivative.LogProb(m.steps, m.logp); err != nil {
		return err
	}
	for i, s := range list {
		loss, slope := sums.surrogate(float64(m.logp[i]), float64(b.buf.logp[s]), b.advantage[0][i], c.ClipRange)
		sums.policyLoss += loss
		m.slope[i] = float32(slope)
	}
	m.steps.Advantage = m.slope
	m.policy.Net.ZeroGrads()
	_, err := m.derivative.Policy(m.steps, 1/float64(len(list)), c.Entropy)
	sums.entropy += m.derivative.Entropy
	return err
}

func (m *graphNets) valueGradient(b *batch, c *Config, sums *metrics) error {
	p, list := &m.value, b.samples[0]
	if err := m.fill(p.Batch, b.buf.obs, list); err != nil {
		return err
	}
	out := p.Values(len(list), graphs.Drops(m.c.Graph, m.dropout, p.Adam, 1))
	m.grad = reuse.Slice(m.grad, len(list))
	for i, s := range list {
		loss, slope := valueLoss(float64(out[i]), float64(b.value[s]), b.ret[s], c.ClipRange, c.ValueClip)
		sums.valueLoss += loss
		m.grad[i] = float32(slope / float64(len(list)))
	}
	p.Net.ZeroGrads()
	p.Backward(m.grad)
	return m.ctx.Train.Err()
}

func (m *graphNets) optimisers() []nets.Optimizer {
	return []nets.Optimizer{m.policy.Adam, m.value.Adam}
}

func (m *graphNets) std() float64 { return 0 }

func (m *graphNets) sync() error {
	return m.acting.Sync(m.ctx.Train, m.policy.Net)
}

// weights implements [model].
func (m *graphNets) weights(p *saved.Parts, prefix string) {
	p.Weights[prefix+"policy"], p.Weights[prefix+"value"] = m.policy.Net.Params(), m.value.Net.Params()
	p.Adam(prefix+"policy", m.policy.Adam)
	p.Adam(prefix+"value", m.value.Adam)
}
