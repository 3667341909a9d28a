// Package choice is what learners that score a finite number of choices share: an environment with a Discrete action as
// a network sees it ([Problem]), a network on rows ([Pass]) that acts for agents ([Actor]), picking a choice by its
// score under a mask ([Best], [Draw]), and the policy file that leaves training ([Policy]).
//
// Not here: how scores are learned (agents/dqn, agents/reinforce), choices within graphs (agents/graphs), continuous
// actions and actions of several components (agents/maddpg).
package choice

import (
	"encoding/json"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Problem is an environment as a network that scores choices sees it: rows of observations in, a score per choice out.
// All agents of the one kind share the network; each is a row.
type Problem struct {
	Kind *envs.Kind
	// Agents is the number of rows of one environment, Obs the width of a row, N the number of choices.
	Agents, Obs, N int
}

// NewProblem reads a spec. It fails, naming the kind, where there are several kinds, where observations are not
// vectors, and where an action is not one choice.
func NewProblem(s *envs.Spec) (Problem, error) {
	k, err := check.Vector(s)
	if err != nil {
		return Problem{}, err
	}
	p := Problem{Kind: k, Agents: k.Agents, Obs: k.Observation.Width()}
	switch a := k.Action.(type) {
	case envs.Discrete:
		p.N = a.N
	case envs.MultiDiscrete:
		if len(a.N) != 1 {
			return Problem{}, fmt.Errorf("%s: an action of %s has %d components, want one choice", s.ID, k.Name, len(a.N))
		}
		p.N = a.N[0]
	default:
		return Problem{}, fmt.Errorf("%s: action space of %s is %v, want Discrete", s.ID, k.Name, k.Action)
	}
	return p, nil
}

// Arch is an MLP from observations to out numbers.
func (p *Problem) Arch(hidden []int, activation string, finalBound float64, out int) nets.Arch {
	return nets.MLP{
		Agents: 1, In: []nets.Port{{Name: "observation", Width: p.Obs}}, Hidden: hidden, Out: out,
		Activation: activation, FinalBound: finalBound,
	}
}

// Pass is a net of one input with memory for a batch of rows. It reuses the list of inputs, so that a call does not
// allocate.
type Pass struct {
	Net  nets.Net
	Work nets.Work
	in   [1]nets.Tensor
}

// NewPass returns memory for rows at a time.
func NewPass(net nets.Net, rows int) Pass { return Pass{Net: net, Work: net.NewWork(rows)} }

// Forward runs the net on s, [1, rows, width], and returns its output, which stays until the next call.
func (p *Pass) Forward(s nets.Tensor) nets.Tensor {
	p.in[0] = s
	return p.Net.Forward(p.Work, p.in[:]...)
}

// Actor runs a network that acts, for a fixed number of rows. It does not allocate once made.
type Actor struct {
	e    nets.Engine
	Net  nets.Net
	pass Pass
	seen nets.Tensor // [1, rows, obs]
	Out  []float32   // [rows, N] of the last Run
}

// NewActor returns memory to act for rows agents together on engine e.
func NewActor(e nets.Engine, net nets.Net, rows int) (*Actor, error) {
	obs, n := net.Arch().Inputs()[0].Width, net.Arch().Output().Width
	a := &Actor{e: e, Net: net, pass: NewPass(net, rows), seen: e.NewTensor(1, rows, obs), Out: make([]float32, rows*n)}
	a.net() // makes the engine's memory before the first step
	return a, e.Err()
}

// Run fills Out from observations, [rows, obs].
func (a *Actor) Run(seen []float32) error {
	a.seen.Set(seen)
	a.net()
	return a.e.Err()
}

func (a *Actor) net() { a.pass.Forward(a.seen).Get(a.Out) }

// Row returns row i of Out.
func (a *Actor) Row(i int) []float32 {
	n := a.Net.Arch().Output().Width
	return a.Out[i*n : (i+1)*n]
}

// Sync copies the parameters of a net on engine train to the one that acts, by way of buf where the engines differ.
func (a *Actor) Sync(train nets.Engine, from nets.Net, buf []float32) error {
	return learning.CopyParams(train, from, a.e, a.Net, buf)
}

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
