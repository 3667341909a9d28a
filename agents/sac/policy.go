package sac

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// TrainedPolicy is a trained policy with frozen weights: tanh of the mean where a deterministic action is asked for,
// else a draw.
type TrainedPolicy struct {
	frozen.Policy
	prob   problem
	acting *acting
}

var _ agents.Policy = (*TrainedPolicy)(nil)

// Act implements [envs.Policy].
func (p *TrainedPolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	a, o := p.acting, &obs.Kinds[0]
	copy(a.x, o.Values) // one row: [agents, obs] either way
	if deterministic {
		clear(a.eps)
	} else {
		fill(a.eps, &p.Draws)
	}
	if err := a.run(); err != nil {
		return fmt.Errorf("sac: policy: %w", err)
	}
	if err := p.prob.give(a.out, act.Kinds[0], o.Active); err != nil {
		return fmt.Errorf("sac: policy: %w", err)
	}
	return nil
}

// description is a policy file's JSON.
type description struct {
	// Format is the version of this description: 1.
	Format int `json:"format"`
	// Actor is the architecture, as nets.EncodeArch writes it. Its parameters are the array "actor".
	Actor json.RawMessage `json:"actor"`
	// Action says how outputs in (−1, 1) become actions.
	Action scale `json:"action"`
}

const (
	format     = 1
	arrayActor = "actor"
)

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	arch, err := nets.EncodeArch(l.update.actor.Arch())
	if err != nil {
		return nil, err
	}
	f, err := frozen.NewFile(Name, l.ctx.Spec, description{format, arch, l.p.scale}, arrayActor, l.update.actor.Params(),
		l.ctx.Train)
	if err != nil {
		return nil, err
	}
	return OpenPolicy(f, l.ctx.Spec, l.ctx.Act)
}

// OpenPolicy builds a policy from a file, on the engine act. The environment must have the spaces and the number of
// agents that the policy was trained with.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	p, err := openPolicy(f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("sac: policy: %w", err)
	}
	return p, nil
}

func openPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*TrainedPolicy, error) {
	var d description
	if err := frozen.Describe(f, Name, spec, &d); err != nil {
		return nil, err
	}
	if d.Format != format {
		return nil, fmt.Errorf("description has format %d, want %d", d.Format, format)
	}
	prob, err := newProblem(spec)
	if err != nil {
		return nil, err
	}
	if !prob.equal(&d.Action) {
		return nil, fmt.Errorf("trained for the actions %+v, the environment has %+v", d.Action, prob.scale)
	}
	arch, err := nets.DecodeArch(d.Actor)
	if err != nil {
		return nil, err
	}
	if in := arch.Inputs(); arch.AgentCount() != prob.agents || len(in) != 1 || in[0].Width != prob.obs ||
		arch.Output().Width != 2*prob.act {
		return nil, fmt.Errorf("actor takes %v and gives %v for %d agents, the environment has observations of %d and "+
			"actions of %d for %d", in, arch.Output(), arch.AgentCount(), prob.obs, prob.act, prob.agents)
	}
	net, err := openActor(f, arch, act)
	if err != nil {
		return nil, err
	}
	t := &TrainedPolicy{Policy: frozen.New(f, Name, "sac: policy", frozen.Sum(f, arrayActor)), prob: prob}
	t.acting, err = newActing(&t.prob, act, net, 1)
	return t, err
}

// openActor builds a file's actor.
func openActor(f *agents.PolicyFile, arch nets.Arch, act nets.Engine) (nets.Net, error) {
	if err := frozen.Fits(f, arrayActor, arch); err != nil {
		return nil, err
	}
	net, err := act.NewNet(arch)
	if err != nil {
		return nil, err
	}
	return net, agents.GetTensor(f.Arrays, arrayActor, net.Params())
}

// insight gives a policy's actions without noise, in the environment's units and not rounded, with their derivatives.
type insight struct {
	p      *problem
	acting *acting
	grad   nets.Tensor // by the squashed action, [agents, rows, act]
	out    []float32   // [rows, agents, act]
	dy     []float32   // as grad
	dx     []float32   // [agents, rows, obs]
	by     []float32   // [rows, agents, obs]
}

var _ agents.Transparent = (*TrainedPolicy)(nil)

// Insight implements [agents.Transparent].
func (p *TrainedPolicy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	if rows < 1 {
		return nil, fmt.Errorf("sac: insight: %d rows, want at least 1", rows)
	}
	net, err := openActor(p.File, p.acting.actor.Arch(), act)
	if err != nil {
		return nil, err
	}
	a, err := newActing(&p.prob, act, net, rows)
	if err != nil {
		return nil, err
	}
	return &insight{
		p: &p.prob, acting: a, grad: act.NewTensor(p.prob.agents, rows, p.prob.act), out: make([]float32, len(a.out)),
		dy: make([]float32, len(a.out)), dx: make([]float32, len(a.x)), by: make([]float32, len(a.x)),
	}, act.Err()
}

// Outputs implements [agents.Insight].
func (x *insight) Outputs() (out []agents.Output) {
	for i := range x.p.act {
		out = append(out, agents.Output{Component: i, Choice: -1})
	}
	return out
}

// half is half the range of number i of the actions of any row.
func (x *insight) half(i int) float32 { return (x.p.High[i%x.p.act] - x.p.Low[i%x.p.act]) / 2 }

// Forward implements [agents.Insight].
func (x *insight) Forward(seen []float32) ([]float32, error) {
	if len(seen) != len(x.by) {
		return nil, fmt.Errorf("sac: insight: the observations have %d numbers, want %d rows × %d agents × %d", len(seen),
			x.acting.rows, x.p.agents, x.p.obs)
	}
	x.acting.see(seen)
	if err := x.acting.run(); err != nil {
		return nil, fmt.Errorf("sac: insight: %w", err)
	}
	for i, u := range x.acting.out {
		x.out[i] = x.p.Low[i%x.p.act] + float32((u+1)*x.half(i))
	}
	return x.out, nil
}

// Gradient implements [agents.Insight].
func (x *insight) Gradient(weights []float32) ([]float32, error) {
	if len(weights) != len(x.out) {
		return nil, fmt.Errorf("sac: insight: %d weights, want %d, one for each output", len(weights), len(x.out))
	}
	a := x.acting
	transpose(x.dy, weights, a.rows, x.p.agents, x.p.act)
	for i := range x.dy {
		x.dy[i] *= x.half(i)
	}
	x.grad.Set(x.dy)
	a.last.backward(x.grad, nets.Inputs)
	a.actor.Backward(a.first, a.last.work.GradIn(momentsPort), nets.Inputs)
	a.first.GradIn(0).Get(x.dx)
	if err := a.e.Err(); err != nil {
		return nil, fmt.Errorf("sac: insight: %w", err)
	}
	transpose(x.by, x.dx, x.p.agents, a.rows, x.p.obs)
	return x.by, nil
}

// Attention implements [agents.Insight]: the policy has none.
func (x *insight) Attention([]float32) ([]float32, error) { return nil, nil }
