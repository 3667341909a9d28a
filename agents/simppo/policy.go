package simppo

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// TrainedPolicy is a trained policy: that of package ppo, with a function's name beside its weights.
type TrainedPolicy struct {
	agents.Policy
	file *agents.PolicyFile
}

var _ agents.Policy = (*TrainedPolicy)(nil)

// description is a policy file's JSON.
type description struct {
	// Format is the version of this description: simppo/1.
	Format string `json:"format"`
	// Functions names the rows of the arrays.
	Functions []string `json:"functions"`
	// Policy is the description as ppo's policy files have it. Its arrays are this file's.
	Policy json.RawMessage `json:"policy"`
}

const format = "simppo/1"

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	inside, err := l.Learner.Policy()
	if err != nil {
		return nil, err
	}
	in, err := inside.Export()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(description{format, l.functions.names, in.Description})
	if err != nil {
		return nil, err
	}
	f := &agents.PolicyFile{Agent: Name, EnvID: in.EnvID, Description: text, Arrays: in.Arrays}
	return OpenPolicy(f, l.ctx.Spec, l.ctx.Act)
}

// OpenPolicy builds a policy from a file, on the engine act, for any workflow whose functions see and do as many numbers
// as those that the policy was trained for. A function that the file does not know has the mean of the others' weights.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	p, err := open(f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("simppo: policy: %w", err)
	}
	return p, nil
}

func open(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*TrainedPolicy, error) {
	var d description
	if err := frozen.Describe(f, Name, spec, &d); err != nil {
		return nil, err
	}
	if d.Format != format {
		return nil, fmt.Errorf("description has format %q, want %q", d.Format, format)
	}
	k, err := check.Vector(spec)
	if err != nil {
		return nil, err
	}
	inside := *f
	inside.Agent, inside.Description = ppo.Name, d.Policy
	here := of(k)
	for name, a := range f.Arrays {
		if len(a.Shape) != 2 || a.Shape[0] != len(d.Functions) {
			return nil, fmt.Errorf("array %q has shape %v, want a row for each of %v", name, a.Shape, d.Functions)
		}
	}
	now := &inside
	if !slices.Equal(here.names, d.Functions) {
		if now, err = ppo.Regroup(&inside, here.from(d.Functions)); err != nil {
			return nil, err
		}
	}
	p, err := ppo.OpenPolicy(now, spec, act)
	if err != nil {
		return nil, err
	}
	return &TrainedPolicy{p, f}, nil
}

// Name implements [envs.Policy].
func (*TrainedPolicy) Name() string { return Name }

// Export implements [agents.Policy].
func (p *TrainedPolicy) Export() (*agents.PolicyFile, error) { return p.file, nil }

// CopyFrom implements [envs.Policy].
func (p *TrainedPolicy) CopyFrom(src envs.Policy) error {
	s, ok := src.(*TrainedPolicy)
	if !ok {
		return fmt.Errorf("simppo: policy cannot be copied from a %T", src)
	}
	return p.Policy.CopyFrom(s.Policy)
}

var _ agents.Transparent = (*TrainedPolicy)(nil)

// Insight implements [agents.Transparent]: that of the policy inside.
func (p *TrainedPolicy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	in, ok := p.Policy.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("simppo: insight: a %T gives no gradients of its decisions", p.Policy)
	}
	return in.Insight(act, rows)
}
