package choice

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Policy is a learned policy: a network with frozen weights that scores choices. It takes the legal choice with the
// largest score or, where its scores are logits and no deterministic action is asked for, draws from their softmax. Its
// changing state is the stream of those draws.
type Policy struct {
	frozen.Policy
	logits bool
	prob   Problem
	actor  *Actor
	p      []float64
}

var _ agents.Policy = (*Policy)(nil)

// description is a policy file's JSON; the network's parameters are the array "network".
type description struct {
	// Format is the version of this description: 1.
	Format int `json:"format"`
	// Logits says that scores are logits of a softmax, from which a stochastic policy draws; else they are values.
	Logits bool `json:"logits"`
	// Network is the architecture, as nets.EncodeArch writes it.
	Network json.RawMessage `json:"network"`
	// Choices is the number of choices.
	Choices int `json:"choices"`
}

const (
	format = 1
	array  = "network"
)

// NewPolicy returns a policy with the present parameters of net, which lie on engine train, to act on engine act. Agent
// is the learner's name in the table of agents.
func NewPolicy(agent string, logits bool, spec *envs.Spec, train nets.Engine, net nets.Net, act nets.Engine) (*Policy,
	error) {
	arch, err := nets.EncodeArch(net.Arch())
	if err != nil {
		return nil, err
	}
	d := description{Format: format, Logits: logits, Network: arch, Choices: net.Arch().Output().Width}
	f, err := frozen.NewFile(agent, spec, d, array, net.Params(), train)
	if err != nil {
		return nil, err
	}
	return OpenPolicy(agent, logits, f, spec, act)
}

// OpenPolicy builds a policy from a file that the named agent made, for an environment that offers the same spaces, on
// the engine act.
func OpenPolicy(agent string, logits bool, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	p, err := open(agent, logits, f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("%s: policy: %w", agent, err)
	}
	return p, nil
}

func open(agent string, logits bool, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	var d description
	if err := frozen.Describe(f, agent, spec, &d); err != nil {
		return nil, err
	}
	if d.Format != format || d.Logits != logits {
		return nil, fmt.Errorf("description has format %d and logits %v, want %d and %v", d.Format, d.Logits, format, logits)
	}
	prob, err := NewProblem(spec)
	if err != nil {
		return nil, err
	}
	arch, err := nets.DecodeArch(d.Network)
	if err != nil {
		return nil, err
	}
	if in := arch.Inputs(); arch.AgentCount() != 1 || len(in) != 1 || in[0].Width != prob.Obs ||
		arch.Output().Width != prob.N || d.Choices != prob.N {
		return nil, fmt.Errorf("network takes %v and scores %d of %d choices, the environment has observations of %d "+
			"and %d choices",
			in, arch.Output().Width, d.Choices, prob.Obs, prob.N)
	}
	if err := frozen.Fits(f, array, arch); err != nil {
		return nil, err
	}
	net, err := act.NewNet(arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, array, net.Params()); err != nil {
		return nil, err
	}
	actor, err := NewActor(act, net, prob.Agents)
	if err != nil {
		return nil, err
	}
	return &Policy{
		Policy: frozen.New(f, agent, "choice: policy", frozen.Sum(f, array)),
		logits: logits, prob: prob, actor: actor, p: make([]float64, prob.N),
	}, nil
}

// Act implements [envs.Policy].
func (p *Policy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	o, a, n := &obs.Kinds[0], act.Kinds[0], p.prob.N
	if err := p.actor.Run(o.Values); err != nil {
		return fmt.Errorf("%s: policy: %w", p.Name(), err)
	}
	for j, here := range o.Active {
		if !here {
			a[j] = 0
			continue
		}
		scores, mask := p.actor.Row(j), o.MaskOf(j, n)
		if err := Finite(scores); err != nil {
			return fmt.Errorf("%s: policy: %s %d: %w", p.Name(), p.prob.Kind.Name, j, err)
		}
		var c int
		if p.logits && !deterministic {
			Softmax(p.p, scores, mask)
			c = Draw(p.p, p.Draws.Float64())
		} else {
			c = Best(scores, mask)
		}
		if c == None {
			return fmt.Errorf("%s: policy: %s %d has no legal choice", p.Name(), p.prob.Kind.Name, j)
		}
		a[j] = float32(c)
	}
	return nil
}
