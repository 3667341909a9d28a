package ppo

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// vectors is the model of agents that observe vectors. The deviation of continuous actions is a third network whose
// input is 0: its bias is ln σ.
//
// A recorded update reads a fixed number of rows, so a minibatch is filled up with rows that have no gradient. The
// losses are computed on the host from the networks' outputs, in the same words for all engines.
type vectors struct {
	kind       *envs.Kind
	e          nets.Engine
	head       head
	gauss      *gaussian // the head, where actions are continuous; else nil
	actor      *actor.Net
	groups     int
	obs, rows  int // width of an observation, and rows of a minibatch
	outputs    int
	width, all int // of a stored action, and of a mask

	policy, value, deviation learning.Pass
	judge                    learning.Pass // the value, in memory apart from that of learning
	adams                    []nets.Optimizer

	s, zero                   nets.Tensor // [groups, rows, observation], [groups, 1, 1]
	dout, dvalue, ddeviation  nets.Tensor
	v                         nets.Tensor   // [groups, rows, 1], what judge gives
	surrogate, square, spread learning.Loss // of policy, value and deviation
	gradient, evaluate        nets.Recorded

	host, norms []float32
	stds        []float32 // parameters of deviation
	out         []float32
	lists       [][]int32 // of values
	// Of a group's minibatch: ln π less its old value, the entropies, and π/π_old.
	logp, entropy, ratio []float64
	// Of the minibatch that step is at.
	b *batch
	c *Config
	m *metrics
}

// newVectors makes the model of a kind; key draws the initial weights.
func newVectors(c *Config, ctx *agents.Context, kind *envs.Kind, key rng.Key) (*vectors, error) {
	if kind.Observation.Width() == 0 {
		return nil, fmt.Errorf("%s: observation space of %s is %v, want a vector, or a graph where there is one kind of "+
			"agents", ctx.Spec.ID, kind.Name, kind.Observation)
	}
	m := &vectors{kind: kind, e: ctx.Train, groups: 1, obs: c.seen(kind)}
	if !c.Shared {
		m.groups = kind.Agents
	}
	var err error
	if m.head, err = newHead(c, ctx.Spec.ID, kind, m.groups); err != nil {
		return nil, err
	}
	m.gauss, _ = m.head.(*gaussian)
	m.outputs, m.width, m.all = m.head.sizes()
	samples := c.Rollout * ctx.NumEnvs * kind.Agents / m.groups
	m.rows = (samples + c.Minibatches - 1) / c.Minibatches
	b := learning.Builder{Engine: m.e, Agents: m.groups, Batch: m.rows}
	policy := c.arch(m.groups, m.obs, m.outputs, 0.01)
	m.policy = b.Pass(b.Drawn(policy, key.With(0)))
	m.value = b.Pass(b.Drawn(c.arch(m.groups, m.obs, 1, 1), key.With(1)))
	m.judge = b.Pass(m.value.Net)
	m.adams = []nets.Optimizer{b.Adam(m.policy.Net, c.adam()), b.Adam(m.value.Net, c.adam())}
	if m.gauss != nil {
		m.newDeviation(&b, c)
	}
	if b.Err != nil {
		return nil, b.Err
	}
	m.allocate(&b)
	if m.actor, err = actor.NewNet(ctx.Act, policy, actor.NetOptions{Kind: kind, NumEnvs: ctx.NumEnvs, Mix: c.Mix}); err != nil {
		return nil, err
	}
	return m, m.e.Err()
}

// adam configures the optimiser of each network.
func (c *Config) adam() nets.Adam { return nets.Adam{Rate: c.Rate, Clip: c.Clip, Epsilon: 1e-5} }

// arch is an MLP for each group.
func (c *Config) arch(groups, in, out int, gain float64) nets.MLP {
	m := nets.MLP{
		Agents: groups, In: []nets.Port{{Name: "observation", Width: in}}, Hidden: c.Hidden, Out: out,
		Activation: c.Activation,
	}
	if c.Orthogonal {
		m.OrthogonalGain = gain
	}
	return m
}

// newDeviation makes ln σ: a network whose bias it is.
func (m *vectors) newDeviation(b *learning.Builder, c *Config) {
	a := nets.MLP{
		Agents: m.groups, In: []nets.Port{{Name: "zero", Width: 1}}, Out: m.outputs, Activation: nets.Tanh,
	}
	m.stds = make([]float32, 2*m.groups*m.outputs) // of each group a row of weights, and the biases
	for g := range m.groups {
		for i := range m.outputs {
			m.stds[(2*g+1)*m.outputs+i] = float32(c.LogStd)
		}
	}
	one := learning.Builder{Engine: b.Engine, Agents: b.Agents, Batch: 1, Err: b.Err}
	m.deviation = one.Pass(one.Net(a))
	m.adams = append(m.adams, one.Adam(m.deviation.Net, c.adam()))
	if b.Err = one.Err; b.Err == nil {
		m.deviation.Net.Params().Set(m.stds)
		m.zero, m.ddeviation = one.Tensor(1), one.Tensor(m.outputs)
	}
}

func (m *vectors) allocate(b *learning.Builder) {
	e := m.e
	m.s, m.dout, m.dvalue, m.v = b.Tensor(m.obs), b.Tensor(m.outputs), b.Tensor(1), b.Tensor(1)
	m.host, m.norms = make([]float32, m.groups*m.rows*m.obs), make([]float32, m.groups)
	m.out, m.lists = make([]float32, m.groups*m.rows), make([][]int32, m.groups)
	m.logp, m.entropy, m.ratio = make([]float64, m.rows), make([]float64, m.rows), make([]float64, m.rows)
	m.surrogate = b.Loss(nets.Custom{Name: "ppo: surrogate", Func: m.surrogateLoss})
	m.square = b.Loss(nets.Custom{Name: "ppo: value", Func: m.valueLoss})
	m.spread = b.Loss(nets.Custom{Name: "ppo: deviation", Func: m.deviationGradient})
	m.gradient = e.Record("ppo: update", m.learnPolicy, m.learnValue)
	m.evaluate = e.Record("ppo: values", func() { e.Copy(m.v, m.judge.Forward(m.s)) })
}

// learnPolicy is one gradient step of the policy and the deviation, learnValue one of the value. They may run side by side.
func (m *vectors) learnPolicy() {
	m.descend(&m.policy, m.adams[0], &m.surrogate, m.dout, m.s)
	if m.gauss != nil { // after the policy, whose loss leaves the gradient
		m.descend(&m.deviation, m.adams[2], &m.spread, m.ddeviation, m.zero)
	}
}

func (m *vectors) learnValue() { m.descend(&m.value, m.adams[1], &m.square, m.dvalue, m.s) }

func (m *vectors) descend(p *learning.Pass, adam nets.Optimizer, loss *learning.Loss, grad, in nets.Tensor) {
	loss.Gradient(grad, p.Forward(in))
	p.Net.ZeroGrads()
	p.Backward(grad, nets.Params)
	adam.Step()
}

// surrogateLoss is the policy's loss; see [Learner.learn]. args[0] is [groups, rows, outputs].
func (m *vectors) surrogateLoss(_, grad []float64, args [][]float64, _ [][]int) {
	b := m.b
	if m.gauss != nil {
		for _, g := range m.gauss.grad {
			clear(g)
		}
	}
	for g, list := range b.samples {
		scale, from, n := 1/float64(len(list)), g*m.rows*m.outputs, len(list)
		logp, entropy, ratio := m.logp[:n], m.entropy[:n], m.ratio[:n]
		m.head.samples(g, args[0][from:], b.buf, list, logp, entropy)
		for i, s := range list {
			logp[i] -= float64(b.buf.logp[s])
		}
		for i, x := range logp {
			ratio[i] = portable.Exp(x)
		}
		slope := ratio // in its place
		for i, r := range ratio {
			loss, by := m.m.surrogate(logp[i], r, b.advantage[g][i], m.c.ClipRange)
			m.m.policyLoss += loss
			m.m.entropy += entropy[i]
			slope[i] = float64(by * scale)
		}
		m.head.gradients(g, grad[from:], slope, float64(m.c.Entropy*scale))
	}
}

// deviationGradient is the gradient by ln σ, which the policy's loss has left.
func (m *vectors) deviationGradient(_, grad []float64, _ [][]float64, _ [][]int) {
	for g, d := range m.gauss.grad {
		copy(grad[g*m.outputs:], d)
	}
}

// valueLoss is the value's loss; args[0] is [groups, rows, 1].
func (m *vectors) valueLoss(_, grad []float64, args [][]float64, _ [][]int) {
	b := m.b
	sum := m.m.valueLoss // in a register: the policy's loss adds to its neighbours meanwhile
	for g, list := range b.samples {
		for i, s := range list {
			at := g*m.rows + i
			loss, slope := valueLoss(args[0][at], float64(b.value[s]), b.ret[s], m.c.ClipRange, m.c.ValueClip)
			sum += loss
			grad[at] = slope / float64(len(list))
		}
	}
	m.m.valueLoss = sum
}

// step implements [model].
func (m *vectors) step(b *batch, c *Config, sums *metrics) error {
	m.b, m.c, m.m = b, c, sums
	m.gather(b.buf.obs.(*vectorRows), b.samples)
	for _, a := range m.adams {
		a.Advance()
	}
	if err := m.gradient.Run(); err != nil {
		return fmt.Errorf("gradient step %d: %w", m.adams[0].Steps(), err)
	}
	sums.policyNorm += learning.Norm(m.adams[0], m.norms)
	sums.valueNorm += learning.Norm(m.adams[1], m.norms)
	return m.readDeviation()
}

// readDeviation takes over ln σ.
func (m *vectors) readDeviation() error {
	if m.gauss == nil {
		return nil
	}
	m.deviation.Net.Params().Get(m.stds)
	for g, std := range m.gauss.LogStd {
		for i := range std {
			std[i] = float64(m.stds[(2*g+1)*m.outputs+i])
		}
	}
	return m.e.Err()
}

// putDeviation writes a policy's ln σ, [groups][components], to the parameters of the deviation.
func (m *vectors) putDeviation(params []float32, logStd []float32) error {
	if len(logStd) != m.groups*m.outputs {
		return fmt.Errorf("log_std has %d numbers, want %d", len(logStd), m.groups*m.outputs)
	}
	for g := range m.groups {
		copy(params[(2*g+1)*m.outputs:(2*g+2)*m.outputs], logStd[g*m.outputs:])
	}
	return nil
}

// gather uploads the observations of some samples of each group, filled up with zeros.
func (m *vectors) gather(from *vectorRows, lists [][]int32) {
	for g, list := range lists {
		rows := m.host[g*m.rows*m.obs : (g+1)*m.rows*m.obs]
		for i, s := range list {
			copy(rows[i*m.obs:(i+1)*m.obs], from.row(s))
		}
		clear(rows[len(list)*m.obs:])
	}
	m.s.Set(m.host)
}

// values implements [model].
func (m *vectors) values(obs observations, rows []int32, dst []float32) error {
	for g := range m.lists {
		m.lists[g] = m.lists[g][:0]
	}
	run := func() error {
		m.gather(obs.(*vectorRows), m.lists)
		if err := m.evaluate.Run(); err != nil {
			return err
		}
		m.v.Get(m.out)
		for g, list := range m.lists {
			for i, s := range list {
				dst[s] = m.out[g*m.rows+i]
			}
			m.lists[g] = list[:0]
		}
		return m.e.Err()
	}
	for i, row := range rows {
		g := int(row) % m.kind.Agents % m.groups
		if len(m.lists[g]) == m.rows {
			if err := run(); err != nil {
				return err
			}
		}
		m.lists[g] = append(m.lists[g], int32(i))
	}
	if len(rows) == 0 {
		return nil
	}
	return run()
}

// Save implements [model].
func (m *vectors) Save(p *saved.Parts, prefix string) {
	for i, n := range []nets.Net{m.policy.Net, m.value.Net, m.deviation.Net}[:len(m.adams)] {
		p.Net(prefix+[]string{"policy", "value", "log_std"}[i], n, m.adams[i])
	}
}

// Optimisers implements [model].
func (m *vectors) Optimisers() []nets.Optimizer { return m.adams }

func (m *vectors) std() float64 {
	if m.gauss == nil {
		return 0
	}
	return m.gauss.mean()
}

// Sync implements [model].
func (m *vectors) Sync() error {
	if err := m.readDeviation(); err != nil {
		return err
	}
	return m.actor.Sync(m.e, m.policy.Net)
}

// part is the policy of the kind.
func (m *vectors) part(c *Config) actor.Part {
	p := actor.Part{Kind: actor.Kind{Head: actor.Softmax}, Params: m.policy.Net.Params()}
	p.Network.Arch = m.policy.Net.Arch()
	if c.Mix != None {
		p.Mix = c.Mix
	}
	if m.gauss != nil {
		p.Head, p.Bounds, p.LogStd = actor.Gaussian, c.Bounds, m.gauss.LogStd
	}
	return p
}

// act implements [model].
func (m *vectors) act(v *envs.Vector, kind int, s *rng.Stream, d *decision) error {
	o := &v.Obs.Kinds[kind]
	if err := m.actor.Run(o.Values, o.Active); err != nil {
		return err
	}
	for i := range v.NumEnvs() {
		seen, act := &v.Obs.Env(i).Kinds[kind], v.Act.Env(i).Kinds[kind]
		if err := m.actCopy(i, seen, s, act, d.of(i, m.kind.Agents)); err != nil {
			return err
		}
	}
	return nil
}
