package ppo

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// graphNets is the model of agents that observe graphs and choose in components. They share their weights.
type graphNets struct {
	*graphs.Model
	steps       graphs.Steps
	choice      []float32
	logp, slope []float32
	draws       []*rng.Stream // of each copy: one for all
}

// graphRows are the graphs that agents saw.
type graphRows struct{ *graphs.List }

func (r graphRows) begin(*envs.KindObservation) {}

func (r graphRows) add(o *envs.KindObservation, agent int) { r.Append(o.Graphs[agent]) }
func (r graphRows) size() int                              { return r.Len() }
func (r graphRows) clear()                                 { r.Clear() }

// graphsAtOnce is the number of graphs whose values are computed together. It changes speed and rounding alone.
const graphsAtOnce = 256

func newGraphs(c *Config, ctx *agents.Context, key rng.Key) (*graphNets, error) {
	adam := c.adam()
	m, err := graphs.NewModel(graphs.ModelConfig{
		Net: c.Graph, FinalBound: 0.01, Rows: graphsAtOnce, Policy: adam, Value: &adam, Weights: key,
		Dropout: rng.New(ctx.Seed, "ppo: dropout"),
	}, ctx)
	if err != nil {
		return nil, err
	}
	if n := m.Problem.Agents; !c.Shared && n > 1 {
		return nil, fmt.Errorf("%s: %d agents observe graphs: they share their weights, want shared: true", ctx.Spec.ID, n)
	}
	return &graphNets{Model: m, draws: make([]*rng.Stream, ctx.NumEnvs)}, nil
}

func (m *graphNets) newRows() graphRows { return graphRows{graphs.NewList(m.Problem)} }

// part is the policy.
func (m *graphNets) part(*Config) actor.Part {
	arch, params := m.Learned()
	return actor.Part{Kind: actor.Kind{Head: actor.Softmax, Network: actor.Network{Arch: arch}}, Params: params}
}

// act implements [model].
func (m *graphNets) act(v *envs.Vector, kind int, s *rng.Stream, d *decision) error {
	for i := range m.draws {
		m.draws[i] = s
	}
	err := m.Act(v, m.draws, d.logp, nil)
	copy(d.action, v.Act.Kinds[kind])
	copy(d.mask, m.Legal())
	return err
}

// values implements [model].
func (m *graphNets) values(obs observations, _ []int32, dst []float32) error {
	list := obs.(graphRows).List
	return m.Values(&m.Value, func(i int) (*graphs.List, int) { return list, i }, dst)
}

// step implements [model].
func (m *graphNets) step(b *batch, c *Config, sums *metrics) error {
	if err := m.policyGradient(b, c, sums); err != nil {
		return err
	}
	if err := m.valueGradient(b, c, sums); err != nil {
		return err
	}
	sums.policyNorm += learning.Step(m.Policy.Adam)
	sums.valueNorm += learning.Step(m.Value.Adam)
	return m.Err()
}

// seen are the graphs of a minibatch.
func seen(b *batch) graphs.Seen {
	list, from := b.buf.obs.(graphRows).List, b.samples[0]
	return func(i int) (*graphs.List, int) { return list, int(from[i]) }
}

// policyGradient leaves the gradient of the policy's loss. Where the surrogate is not clipped its gradient is that of
// −r·A·ln π with r·A held fixed, which [graphs.Gradient] has.
func (m *graphNets) policyGradient(b *batch, c *Config, sums *metrics) error {
	list, width, all := b.samples[0], b.buf.width, b.buf.choices
	m.steps.Mask, m.choice = m.steps.Mask[:0], m.choice[:0]
	for _, s := range list {
		m.steps.Mask = append(m.steps.Mask, b.buf.mask[int(s)*all:int(s+1)*all]...)
		m.choice = append(m.choice, b.buf.action[int(s)*width:int(s+1)*width]...)
	}
	m.steps.Choice = m.choice
	if err := m.Begin(0, len(list), seen(b), m.Drop(&m.Policy)); err != nil {
		return err
	}
	m.logp, m.slope = reuse.Slice(m.logp, len(list)), reuse.Slice(m.slope, len(list))
	if err := m.Gradient.LogProb(m.steps, m.logp); err != nil {
		return err
	}
	for i, s := range list {
		ln := float64(m.logp[i]) - float64(b.buf.logp[s])
		loss, slope := sums.surrogate(ln, portable.Exp(ln), b.advantage[0][i], c.ClipRange)
		sums.policyLoss += loss
		m.slope[i] = float32(slope)
	}
	m.steps.Advantage = m.slope
	m.Policy.Net.ZeroGrads()
	_, err := m.Gradient.Policy(m.steps, 1/float64(len(list)), c.Entropy)
	sums.entropy += m.Gradient.Entropy
	return err
}

func (m *graphNets) valueGradient(b *batch, c *Config, sums *metrics) error {
	list := b.samples[0]
	m.Value.Net.ZeroGrads()
	return m.AddValueGradient(0, len(list), seen(b), m.Drop(&m.Value), func(i int, v float64) float64 {
		loss, slope := valueLoss(v, float64(b.value[list[i]]), b.ret[list[i]], c.ClipRange, c.ValueClip)
		sums.valueLoss += loss
		return slope / float64(len(list))
	})
}

func (m *graphNets) std() float64 { return 0 }
