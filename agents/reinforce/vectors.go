package reinforce

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// vectors is the model of environments whose agents observe a vector and make one choice.
type vectors struct {
	u      *update
	ctx    *agents.Context
	p      choice.Problem
	n      []int
	actor  *choice.Actor
	params []float32 // buffer of syncActor
	probs  []float64
	masks  []bool // of the last act
}

func newVectors(c *Config, ctx *agents.Context) (*vectors, error) {
	p, err := choice.NewProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	m := &vectors{ctx: ctx, p: p, n: []int{p.N}, probs: make([]float64, p.N), masks: make([]bool, ctx.Copies*p.Agents*p.N)}
	policy, value := p.Arch(c.Hidden, c.Activation, c.FinalBound, p.N), p.Arch(c.Hidden, c.Activation, 0, 1)
	if m.u, err = newUpdate(c, policy, value, ctx.Train, rng.New(ctx.Seed, "reinforce: initial weights")); err != nil {
		return nil, err
	}
	net, err := ctx.Act.NewNet(policy)
	if err != nil {
		return nil, err
	}
	if m.actor, err = choice.NewActor(ctx.Act, net, ctx.Copies*p.Agents); err != nil {
		return nil, err
	}
	m.params = make([]float32, nets.Size(net.Params()))
	return m, nil
}

func (m *vectors) kind() *envs.Kind              { return m.p.Kind }
func (m *vectors) components() []int             { return m.n }
func (m *vectors) newObservations() observations { return &vectorObservations{width: m.p.Obs} }

func (m *vectors) record(s observations, o *envs.KindObservation, agent int) {
	s.(*vectorObservations).add(o.Values[agent*m.p.Obs : (agent+1)*m.p.Obs])
}

func (m *vectors) syncActor() error { return m.actor.Sync(m.ctx.Train, m.u.policy.Net, m.params) }

func (m *vectors) legal(row int) []bool { return m.masks[row*m.p.N : (row+1)*m.p.N] }

func (m *vectors) act(v *envs.Vector, s *rng.Stream, logp []float32, teacher *imitation) error {
	o := &v.Obs.Kinds[0]
	if err := m.actor.Run(o.Values); err != nil {
		return fmt.Errorf("acting: %w", err)
	}
	copy(m.masks, o.Mask)
	for i, here := range o.Active {
		v.Act.Kinds[0][i] = 0
		if !here {
			continue
		}
		logits := m.actor.Row(i)
		if err := choice.Finite(logits); err != nil {
			return fmt.Errorf("environment %d: %s %d: %w", i/m.p.Agents, m.p.Kind.Name, i%m.p.Agents, err)
		}
		choice.Softmax(m.probs, logits, m.legal(i))
		c := choice.None
		if t := teacher.action(i); t == nil {
			c = choice.Draw(m.probs, s.Float64())
		} else if m.legal(i)[int(t[0])] {
			c = int(t[0])
		}
		if c == choice.None {
			return fmt.Errorf("environment %d: %s %d has no legal choice", i/m.p.Agents, m.p.Kind.Name, i%m.p.Agents)
		}
		v.Act.Kinds[0][i] = float32(c)
		logp[i] = float32(portable.Log(max(m.probs[c], 1e-300)))
	}
	return nil
}

func (m *vectors) policyGradient(b *batch) (float64, error) { return m.u.policyGradient(b) }
func (m *vectors) valueGradient(b *batch) (float64, error)  { return m.u.valueGradient(b) }

func (m *vectors) logProbs(b *batch, dst []float32) error {
	n := m.p.N
	return m.u.forward(&m.u.policy, b.refs, func(from int, out []float32) {
		for i := range len(out) / n {
			p := b.refs[from+i]
			choice.Softmax(m.probs, out[i*n:(i+1)*n], p.t.mask[p.step*n:(p.step+1)*n])
			dst[from+i] = float32(portable.Log(max(m.probs[int(p.t.choice[p.step])], 1e-300)))
		}
	})
}

func (m *vectors) values(target bool, at []stepRef, dst []float32) error {
	p := &m.u.value
	if target && m.u.target != nil {
		p = m.u.target
	}
	return m.u.forward(p, at, func(from int, out []float32) { copy(dst[from:], out) })
}

func (m *vectors) optimisers() (policy, value nets.Optimizer) { return m.u.policyAdam, m.u.valueAdam }

func (m *vectors) updateTarget(tau float64) {
	if m.u.target != nil {
		m.u.e.Lerp(m.u.target.Net.Params(), m.u.value.Net.Params(), tau)
	}
}

func (m *vectors) err() error { return m.u.e.Err() }

func (m *vectors) weights(p *saved.Parts) {
	p.Weights["policy"] = m.u.policy.Net.Params()
	if m.u.valueAdam != nil {
		p.Weights["value"] = m.u.value.Net.Params()
	}
	if m.u.target != nil {
		p.Weights["value_target"] = m.u.target.Net.Params()
	}
}

func (m *vectors) policy() (agents.Policy, error) {
	return choice.NewPolicy(Name, true, m.ctx.Spec, m.ctx.Train, m.u.policy.Net, m.ctx.Act)
}

// vectorObservations are rows of one width.
type vectorObservations struct {
	packed
	width int
}

// State implements [state.Stater].
func (s *vectorObservations) State(c *state.Codec) {
	c.Part(&s.packed)
	if c.Loaded() {
		c.Fail(s.check(s.width))
	}
}
