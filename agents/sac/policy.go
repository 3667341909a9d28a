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
