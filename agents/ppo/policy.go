package ppo

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/frozen"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Policy is a learned policy over vectors, with frozen weights. Deterministic, it takes the most likely choices and the
// means of continuous actions; else it draws. Its changing state is the stream of those draws.
type Policy struct {
	frozen.Policy
	kinds []policyKind
}

// policyKind acts for the agents of one kind.
type policyKind struct {
	actor *actor
	did   decision
}

var _ agents.Policy = (*Policy)(nil)

// description is a policy file's JSON.
type description struct {
	// Format is the version of this description: ppo/1.
	Format string            `json:"format"`
	Kinds  []kindDescription `json:"kinds"`
}

// kindDescription is the policy of one kind of agents. The network's parameters are the array NAME.network; the array
// NAME.log_std, [groups, components], holds ln σ of continuous actions.
type kindDescription struct {
	Name string `json:"name"`
	// Network is the architecture, as nets.EncodeArch writes it: for one group, or one for each agent.
	Network json.RawMessage `json:"network"`
	// Mix is what an agent sees of the others: mean, or empty for none.
	Mix string `json:"mix,omitempty"`
	// Bounds is how continuous actions stay within their bounds: clip, or tanh.
	Bounds string `json:"bounds,omitempty"`
}

const format = "ppo/1"

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	if g, ok := l.parts[0].m.(*graphNets); ok {
		return graphs.NewPolicy(Name, l.ctx.Spec, l.ctx.Train, g.policy.net, l.ctx.Act)
	}
	f, err := l.file()
	if err != nil {
		return nil, fmt.Errorf("ppo: %w", err)
	}
	return OpenPolicy(f, l.ctx.Spec, l.ctx.Act)
}

// file writes the present policy.
func (l *Learner) file() (*agents.PolicyFile, error) {
	f := &agents.PolicyFile{Agent: Name, EnvID: l.ctx.Spec.ID, Arrays: map[string]agents.Array{}}
	d := description{Format: format}
	for _, p := range l.parts {
		m := p.m.(*vectors)
		arch, err := nets.EncodeArch(m.policy.Net.Arch())
		if err != nil {
			return nil, err
		}
		k := kindDescription{Name: m.kind.Name, Network: arch}
		if l.c.Mix != None {
			k.Mix = l.c.Mix
		}
		agents.PutTensor(f.Arrays, k.network(), m.policy.Net.Params())
		if m.gauss != nil {
			k.Bounds = l.c.Bounds
			std := agents.Array{Shape: []int{m.groups, m.outputs}}
			for _, group := range m.gauss.logStd {
				for _, x := range group {
					std.Data = append(std.Data, float32(x))
				}
			}
			f.Arrays[k.logStd()] = std
		}
		d.Kinds = append(d.Kinds, k)
	}
	var err error
	f.Description, err = json.Marshal(d)
	return f, err
}

func (k *kindDescription) network() string { return k.Name + ".network" }
func (k *kindDescription) logStd() string  { return k.Name + ".log_std" }

// OpenPolicy builds a policy from a file, for an environment that offers the same spaces, on the engine act.
func OpenPolicy(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	if graphs.Describes(f) {
		return graphs.OpenPolicy(Name, f, spec, act)
	}
	p, err := open(f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("ppo: policy: %w", err)
	}
	return p, nil
}

func open(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	var d description
	if err := frozen.Describe(f, Name, spec, &d); err != nil {
		return nil, err
	}
	if d.Format != format || len(d.Kinds) != len(spec.Kinds) {
		return nil, fmt.Errorf("description has format %q and %d kinds of agents, want %q and %d", d.Format, len(d.Kinds),
			format, len(spec.Kinds))
	}
	p := &Policy{}
	var arrays []string
	for i := range d.Kinds {
		k, err := d.Kinds[i].open(f, spec, &spec.Kinds[i], act)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Kinds[i].Name, err)
		}
		p.kinds = append(p.kinds, k)
		arrays = append(arrays, d.Kinds[i].network(), d.Kinds[i].logStd())
	}
	p.Policy = frozen.New(f, Name, "ppo: policy", frozen.Sum(f, arrays...))
	return p, nil
}

// open builds the policy of one kind of agents.
func (k *kindDescription) open(f *agents.PolicyFile, spec *envs.Spec, kind *envs.Kind, act nets.Engine) (policyKind,
	error) {
	arch, err := nets.DecodeArch(k.Network)
	if err != nil {
		return policyKind{}, err
	}
	groups := arch.AgentCount()
	h, err := newHead(&Config{Bounds: k.Bounds}, spec.ID, kind, groups)
	if err != nil {
		return policyKind{}, err
	}
	outputs, width, choices := h.sizes()
	if in := arch.Inputs(); k.Name != kind.Name || (groups != 1 && groups != kind.Agents) || len(in) != 1 ||
		(k.Mix != "" && k.Mix != Mean) || in[0].Width != (&Config{Mix: k.Mix}).seen(kind) || arch.Output().Width != outputs {
		return policyKind{}, fmt.Errorf("network of %q takes %v and gives %v for %d agents, the environment has "+
			"observations of %d (mix %q) and %d outputs for %d", k.Name, in, arch.Output(), groups, kind.Observation.Width(),
			k.Mix, outputs, kind.Agents)
	}
	if err := frozen.Fits(f, k.network(), arch); err != nil {
		return policyKind{}, err
	}
	if g, ok := h.(*gaussian); ok {
		if err := g.read(f.Arrays[k.logStd()], k); err != nil {
			return policyKind{}, err
		}
	}
	a, err := newActor(kind, h, act, arch, k.Mix, 1)
	if err != nil {
		return policyKind{}, err
	}
	if err := agents.GetTensor(f.Arrays, k.network(), a.pass.Net.Params()); err != nil {
		return policyKind{}, err
	}
	return policyKind{a, newDecision(kind.Agents, width, choices)}, nil
}

// read takes the deviations from a policy file.
func (a *gaussian) read(x agents.Array, k *kindDescription) error {
	n := len(a.z)
	if (k.Bounds != Clip && k.Bounds != Squash) || len(x.Data) != len(a.logStd)*n {
		return fmt.Errorf("bounds are %q and array %q has %d numbers, want %s or %s, and %d", k.Bounds, k.logStd(),
			len(x.Data), Clip, Squash, len(a.logStd)*n)
	}
	for i, v := range x.Data {
		if v-v != 0 {
			return fmt.Errorf("array %q holds %g, want finite numbers", k.logStd(), v)
		}
		a.logStd[i/n][i%n] = float64(v)
	}
	return nil
}

// Act implements [envs.Policy].
func (p *Policy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	draws := &p.Draws
	if deterministic {
		draws = nil
	}
	for i := range p.kinds {
		k := &p.kinds[i]
		if err := k.actor.run(&obs.Kinds[i]); err != nil {
			return fmt.Errorf("ppo: policy: %w", err)
		}
		if err := k.actor.act(0, &obs.Kinds[i], draws, act.Kinds[i], k.did); err != nil {
			return fmt.Errorf("ppo: policy: %w", err)
		}
	}
	return nil
}

// Rows returns an array with a row for each entry of from: row from[i] of a, or the mean of all rows of a where from[i]
// is −1. a has a row for each of its agents.
func Rows(a agents.Array, from []int) (agents.Array, error) {
	if len(a.Shape) != 2 || a.Shape[0] < 1 || len(a.Data) != a.Shape[0]*a.Shape[1] {
		return a, fmt.Errorf("an array of shape %v holds %d numbers, want a row for each agent", a.Shape, len(a.Data))
	}
	w := a.Shape[1]
	out := agents.Array{Shape: []int{len(from), w}, Data: make([]float32, len(from)*w)}
	for i, f := range from {
		row := out.Data[i*w : (i+1)*w]
		switch {
		case f >= a.Shape[0]:
			return a, fmt.Errorf("row %d of an array of shape %v", f, a.Shape)
		case f >= 0:
			copy(row, a.Data[f*w:(f+1)*w])
			continue
		}
		for j := range row {
			sum := 0.0
			for g := range a.Shape[0] {
				sum += float64(a.Data[g*w+j])
			}
			row[j] = float32(sum / float64(a.Shape[0]))
		}
	}
	return out, nil
}

// Regroup returns the policy file of agents with weights of their own, of one kind, for other agents: agent i has the
// weights of agent from[i], bit for bit, or the mean of all agents' weights where from[i] is −1.
func Regroup(f *agents.PolicyFile, from []int) (*agents.PolicyFile, error) {
	var d description
	if err := json.Unmarshal(f.Description, &d); err != nil {
		return nil, fmt.Errorf("description: %w", err)
	}
	if len(d.Kinds) != 1 {
		return nil, fmt.Errorf("description has %d kinds of agents, want one", len(d.Kinds))
	}
	arch, err := nets.DecodeArch(d.Kinds[0].Network)
	if err != nil {
		return nil, err
	}
	mlp, ok := arch.(nets.MLP)
	if !ok || mlp.Shared {
		return nil, fmt.Errorf("the network is %s, want an MLP with weights of each agent's own", arch.Kind())
	}
	mlp.Agents = len(from)
	if d.Kinds[0].Network, err = nets.EncodeArch(mlp); err != nil {
		return nil, err
	}
	out := &agents.PolicyFile{Agent: f.Agent, EnvID: f.EnvID, Arrays: maps.Clone(f.Arrays)}
	for name, a := range f.Arrays {
		if out.Arrays[name], err = Rows(a, from); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	out.Description, err = json.Marshal(d)
	return out, err
}
