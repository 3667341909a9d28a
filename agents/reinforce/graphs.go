package reinforce

import (
	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// graphModel is the model of environments whose agents observe a graph and choose in several steps.
type graphModel struct {
	*graphs.Model
	c     *Config
	steps graphs.Steps
}

func newGraphs(c *Config, ctx *agents.Context) (*graphModel, error) {
	with := graphs.ModelConfig{
		Net: c.Graph, FinalBound: c.FinalBound, Rows: c.Rows, Policy: nets.Adam{Rate: c.Rate, Clip: c.Clip},
		Target: c.TargetTau > 0, Weights: rng.New(ctx.Seed, "reinforce: initial weights"),
		Dropout: rng.New(ctx.Seed, "reinforce: dropout"),
	}
	if c.Baseline == Value {
		with.Value = &nets.Adam{Rate: c.ValueRate, Clip: c.Clip}
	}
	m, err := graphs.NewModel(with, ctx)
	return &graphModel{Model: m, c: c}, err
}

func (m *graphModel) kind() *envs.Kind  { return m.Problem.Kind }
func (m *graphModel) components() []int { return m.Choices }
func (m *graphModel) newObservations() observations {
	return graphObservations{graphs.NewList(m.Problem)}
}

// graphObservations are the graphs that an agent saw.
type graphObservations struct{ *graphs.List }

func (o graphObservations) rows() int { return o.Len() }
func (o graphObservations) clear()    { o.Clear() }

func (m *graphModel) record(s observations, o *envs.KindObservation, agent int) {
	s.(graphObservations).Append(o.Graphs[agent])
}

// seen are the graphs of steps.
func seen(at []stepRef) graphs.Seen {
	return func(i int) (*graphs.List, int) { return at[i].t.obs.(graphObservations).List, at[i].step }
}

// drop is the key of an update's dropout, for rows from one on; nil without dropout.
func (m *graphModel) drop(p *graphs.Pass, from int) *rng.Key {
	k := m.Drop(p)
	if k != nil {
		*k = k.With(uint64(from))
	}
	return k
}

// parts calls f with parts of n rows.
func (m *graphModel) parts(n int, f func(from, n int) error) error {
	for from := 0; from < n; from += m.c.Rows {
		if err := f(from, min(m.c.Rows, n-from)); err != nil {
			return err
		}
	}
	return nil
}

// begin runs the policy on n of the batch's rows, from one on.
func (m *graphModel) begin(b *batch, from, n int, drop *rng.Key) error {
	m.steps.Mask = m.steps.Mask[:0]
	for _, p := range b.refs[from : from+n] {
		m.steps.Mask = append(m.steps.Mask, p.t.mask[p.step*m.Problem.N:(p.step+1)*m.Problem.N]...)
	}
	width := len(m.Choices)
	m.steps.Choice, m.steps.Advantage = b.choice[from*width:(from+n)*width], b.advantage[from:from+n]
	return m.Begin(from, n, seen(b.refs), drop)
}

func (m *graphModel) policyGradient(b *batch) (loss float64, err error) {
	m.Policy.Net.ZeroGrads()
	err = m.parts(b.rows(), func(from, n int) error {
		if err := m.begin(b, from, n, m.drop(&m.Policy, from)); err != nil {
			return err
		}
		part, err := m.Gradient.Policy(m.steps, 1/float64(b.rows()), m.c.Entropy)
		loss += part
		return err
	})
	return loss, err
}

func (m *graphModel) logProbs(b *batch, dst []float32) error {
	return m.parts(b.rows(), func(from, n int) error {
		if err := m.begin(b, from, n, nil); err != nil {
			return err
		}
		return m.Gradient.LogProb(m.steps, dst[from:from+n])
	})
}

func (m *graphModel) valueGradient(b *batch) (loss float64, err error) {
	m.Value.Net.ZeroGrads()
	own := b.freshRows()
	err = m.parts(own, func(from, n int) error {
		return m.AddValueGradient(from, n, seen(b.refs), m.drop(&m.Value, from), func(i int, v float64) float64 {
			d := v - float64(b.ret[i])
			loss += d * d / float64(own)
			return 2 * d / float64(own)
		})
	})
	return loss, err
}

func (m *graphModel) values(target bool, at []stepRef, dst []float32) error {
	p := &m.Value
	if target && m.Target.Net != nil {
		p = &m.Target
	}
	return m.Values(p, seen(at), dst[:len(at)])
}

func (m *graphModel) stream() string { return graphs.Stream }
