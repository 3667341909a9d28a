// Package actor is what leaves training: a learned policy as networks with frozen weights. For each kind of agents a
// [Kind] says how: observations are standardised, where the policy has statistics; a network makes numbers of them; a
// head makes an action of these. One description and one set of array names stand for all learners, so that whatever
// learns can be stored, explained ([agents.Transparent]), written as ONNX (policy/onnx) and served without a line of its
// own: its learner's Policy method calls [Source.Policy], and its files are opened by [Open].
//
// While they learn, learners act by the same network on rows, [Net], and the same heads, [Choices] and [Normal].
//
// Not here: how weights are learned (each learner), statistics that a wrapper keeps (agents/normalise), rules around a
// policy (agents/firm), the bytes of files (checkpoints, checkpoints/bundle).
package actor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/frozen"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Format is the version of descriptions.
const Format = "actor/1"

// Description is a policy file's JSON.
type Description struct {
	// Format is [Format].
	Format string `json:"format"`
	// Name labels results; empty for the agent's name.
	Name string `json:"name,omitempty"`
	// Stream names the random stream of a stochastic policy's draws.
	Stream string `json:"stream"`
	// Kinds has the environment's kinds of agents, in order.
	Kinds []Kind `json:"kinds"`
}

// Kind is the policy of one kind of agents. Its arrays begin with its name and a dot.
type Kind struct {
	// Name is the kind's name in the environment.
	Name string `json:"name"`
	// Head says what the network's outputs are: see [Interval] and those after it.
	Head string `json:"head"`
	// Network is the architecture: for all agents, with weights for each or shared ones, or for one agent at a time. Its
	// parameters are the array "network". A held action has none.
	Network Network `json:"network,omitzero"`
	// Action is the action space: a policy acts where it has the same one.
	Action Action `json:"action"`
	// Mix is what an agent sees beside its own observation: [Mean], or empty for nothing.
	Mix string `json:"mix,omitempty"`
	// Joint says that the network sees the observations of all agents at once and gives the outputs of all.
	Joint bool `json:"joint,omitempty"`
	// Bounds is how a [Gaussian] action stays within its bounds: [Clip] or [Squash].
	Bounds string `json:"bounds,omitempty"`
	// Clip is 0 where observations are not standardised. Else the network sees (x − shift)·scale within ±Clip; these
	// arrays are [agents, width].
	Clip float64 `json:"observation_clip,omitempty"`
	// Members names the agents to whom the rows of the arrays belong. Where the environment has other agents, each keeps
	// its row by its name, and a new one has the mean of all rows. Nil where weights belong to no names.
	Members []string `json:"members,omitempty"`
}

// Array is the name of one of the kind's arrays: network, log_std, shift, scale or action.
func (k *Kind) Array(what string) string { return k.Name + "." + what }

// Network is an architecture that is JSON as [nets.EncodeArch] writes it.
type Network struct{ nets.Arch }

// MarshalJSON implements [json.Marshaler].
func (n Network) MarshalJSON() ([]byte, error) { return nets.EncodeArch(n.Arch) }

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Network) UnmarshalJSON(text []byte) (err error) {
	n.Arch, err = nets.DecodeArch(text)
	return err
}

// Action is an action space: ranges and which of them are of whole numbers, or numbers of choices.
type Action struct {
	Ranges  []envs.Bounds `json:"ranges,omitempty"`
	Integer []bool        `json:"integer,omitempty"`
	Choices []int         `json:"choices,omitempty"`
}

func actionOf(s envs.Space) (Action, error) {
	switch s := s.(type) {
	case envs.Discrete, envs.MultiDiscrete:
		return Action{Choices: envs.Choices(s)}, nil
	case envs.Box:
		return Action{Ranges: envs.Ranges(s), Integer: s.Integer}, nil
	}
	return Action{}, fmt.Errorf("action space is %v, want Discrete, MultiDiscrete or Box", s)
}

// String is the JSON.
func (a Action) String() string {
	text, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (a *Action) equal(b *Action) bool {
	return slices.Equal(a.Ranges, b.Ranges) && slices.Equal(a.Integer, b.Integer) && slices.Equal(a.Choices, b.Choices)
}

// Part is the policy of one kind of agents as a learner has it: Kind without Name and Action, which are the
// environment's, and the numbers.
type Part struct {
	Kind
	// Params are the network's parameters, on the engine that trains.
	Params nets.Tensor
	// LogStd is ln σ of a [Gaussian] head, [groups][components].
	LogStd [][]float64
	// Shift and Scale standardise observations, [agents, width]; nil where Clip is 0.
	Shift, Scale []float32
	// Held is the action of a [Held] policy, [agents, components].
	Held []float32
}

// Source is where policies come from: a learner.
type Source struct {
	// Agent is the learner's name in the table of agents.
	Agent string
	// Name labels results; empty for Agent. Stream names the stream of draws; empty for Agent with ": policy" behind it.
	Name, Stream string
	Spec         *envs.Spec
	// Train has the parameters, Act is the CPU engine that acts.
	Train, Act nets.Engine
}

// Policy returns the policy that the parts describe, one for each kind of agents. It does not change as learning goes on.
func (s Source) Policy(parts ...Part) (agents.Policy, error) {
	f, err := s.file(parts)
	if err != nil {
		return nil, fmt.Errorf("%s: policy: %w", s.Agent, err)
	}
	return Open(f, s.Spec, s.Act)
}

func (s Source) file(parts []Part) (*agents.PolicyFile, error) {
	if len(parts) != len(s.Spec.Kinds) {
		return nil, fmt.Errorf("%d parts for %d kinds of agents, want one for each", len(parts), len(s.Spec.Kinds))
	}
	f := &agents.PolicyFile{Agent: s.Agent, EnvID: s.Spec.ID, Arrays: map[string]agents.Array{}}
	d := Description{Format: Format, Name: s.Name, Stream: s.Stream}
	if d.Stream == "" {
		d.Stream = s.Agent + ": policy"
	}
	for i, p := range parts {
		kind := &s.Spec.Kinds[i]
		p.Name = kind.Name
		var err error
		if p.Action, err = actionOf(kind.Action); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Name, err)
		}
		p.put(f, kind.Agents)
		d.Kinds = append(d.Kinds, p.Kind)
	}
	if s.Train != nil {
		if err := s.Train.Err(); err != nil {
			return nil, fmt.Errorf("reading the weights: %w", err)
		}
	}
	return f, d.write(f)
}

// put writes a part's arrays.
func (p *Part) put(f *agents.PolicyFile, n int) {
	if p.Params != nil {
		agents.PutTensor(f.Arrays, p.Array(network), p.Params)
	}
	if p.LogStd != nil {
		std := agents.Array{Shape: []int{len(p.LogStd), len(p.LogStd[0])}}
		for _, group := range p.LogStd {
			for _, x := range group {
				std.Data = append(std.Data, float32(x))
			}
		}
		f.Arrays[p.Array(logStd)] = std
	}
	if p.Joint {
		n = 1
	}
	for name, data := range map[string][]float32{shift: p.Shift, scale: p.Scale, held: p.Held} {
		if data != nil {
			f.Arrays[p.Array(name)] = agents.Array{Shape: []int{n, len(data) / n}, Data: data}
		}
	}
}

// Names of a kind's arrays.
const (
	network = "network"
	logStd  = "log_std"
	shift   = "shift"
	scale   = "scale"
	held    = "action"
)

func (d *Description) write(f *agents.PolicyFile) (err error) {
	f.Description, err = json.Marshal(d)
	return err
}

// Describes reports whether a policy's description is one of this package.
func Describes(description []byte) bool {
	var d struct{ Format any }
	return json.Unmarshal(description, &d) == nil && d.Format == Format
}

// Read reads a file's description, and holds it against the environment's kinds of agents.
func Read(f *agents.PolicyFile, spec *envs.Spec) (*Description, error) {
	var d Description
	var is struct{ Format any }
	if json.Unmarshal(f.Description, &is) == nil && is.Format != Format {
		return nil, fmt.Errorf("description has format %v, want %q: another version of Stoker wrote it", is.Format, Format)
	}
	if err := frozen.Describe(f, spec, &d); err != nil {
		return nil, err
	}
	if len(d.Kinds) != len(spec.Kinds) {
		return nil, fmt.Errorf("description has %d kinds of agents, the environment has %d", len(d.Kinds), len(spec.Kinds))
	}
	for i := range d.Kinds {
		if err := d.Kinds[i].fits(&spec.Kinds[i]); err != nil {
			return nil, err
		}
	}
	return &d, nil
}

// fits says whether the environment has the kind of agents.
func (k *Kind) fits(kind *envs.Kind) error {
	if k.Name != kind.Name {
		return fmt.Errorf("description is of %q, the environment has %q", k.Name, kind.Name)
	}
	has, err := actionOf(kind.Action)
	if err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	// A network over a graph chooses among the graph's nodes, of any number; [Kind.Graph] compares its heads.
	if !IsGraph(k.Network) && !k.Action.equal(&has) {
		return fmt.Errorf("%s: trained for the actions %v, the environment has %v", k.Name, k.Action, has)
	}
	if k.Head != Held && k.Network.Arch == nil {
		return fmt.Errorf("%s: description has no network", k.Name)
	}
	return nil
}

// Open makes the policy of a file that any agent made, for an environment that offers the same spaces, on the engine
// act. A network whose weights all agents share acts for any number of agents on any graph; else the environment must
// have the same agents and neighbours, or the file must name its agents.
func Open(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	p, err := open(f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("%s: policy: %w", f.Agent, err)
	}
	return p, nil
}

func open(f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (agents.Policy, error) {
	d, err := Read(f, spec)
	if err != nil {
		return nil, err
	}
	name := d.Name
	if name == "" {
		name = f.Agent
	}
	base := frozen.New(f, name, d.Stream, frozen.Sum(f, slices.Sorted(maps.Keys(f.Arrays))...))
	if len(d.Kinds) == 1 && d.Kinds[0].Head == Held {
		return openHeld(base, &d.Kinds[0], &spec.Kinds[0])
	}
	if len(d.Kinds) == 1 && IsGraph(d.Kinds[0].Network) {
		return openGraph(base, &d.Kinds[0], spec, act)
	}
	p := &Policy{Policy: base}
	for i := range d.Kinds {
		k, err := d.Kinds[i].open(f, spec, i, act, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Kinds[i].Name, err)
		}
		p.kinds = append(p.kinds, k)
	}
	return p, nil
}

// Policy is a learned policy over vectors. Deterministic, it takes the most likely choices and the means of continuous
// actions; else it draws. Its changing state is the stream of those draws.
type Policy struct {
	frozen.Policy
	kinds []*acting
}

var _ agents.Policy = (*Policy)(nil)

// acting acts for the agents of one kind in some copies of an environment.
type acting struct {
	kind *envs.Kind
	desc *Kind
	net  *Net
	head head
}

// open builds a kind's network and head.
func (k *Kind) open(f *agents.PolicyFile, spec *envs.Spec, kind int, act nets.Engine, copies int) (*acting, error) {
	on := &spec.Kinds[kind]
	if on.Observation.Width() == 0 {
		return nil, fmt.Errorf("observations are %v, want a vector, or a graph where there is one kind of agents",
			on.Observation)
	}
	f, k, err := k.Regrouped(f, on)
	if err != nil {
		return nil, err
	}
	arch, err := k.Placed(on)
	if err != nil {
		return nil, err
	}
	if err := frozen.Fits(f, k.Array(network), arch); err != nil {
		return nil, err
	}
	h, err := newHead(k, on, arch.Groups(), f.Arrays[k.Array(logStd)].Data)
	if err != nil {
		return nil, err
	}
	n, err := NewNet(act, arch, NetOptions{Kind: on, NumEnvs: copies, Mix: k.Mix, Joint: k.Joint, Squash: k.Head == Squashed})
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, k.Array(network), n.Net.Params()); err != nil {
		return nil, err
	}
	if k.Clip > 0 {
		if n.norm, err = newNorm(f, k, arch, on); err != nil {
			return nil, err
		}
	}
	return &acting{on, k, n, h}, nil
}

// Act implements [envs.Policy].
func (p *Policy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	draws := &p.Draws
	if deterministic {
		draws = nil
	}
	for i, k := range p.kinds {
		if err := k.act(&obs.Kinds[i], draws, act.Kinds[i]); err != nil {
			return fmt.Errorf("%s: policy: %w", p.File.Agent, err)
		}
	}
	return nil
}

func (k *acting) act(o *envs.KindObservation, draws *rng.Stream, act []float32) error {
	k.net.Noise(draws)
	if err := k.net.Run(o.Values, o.Active); err != nil {
		return err
	}
	n := len(act) / k.kind.Agents
	for j, here := range o.Active {
		mine := act[j*n : (j+1)*n]
		if !here {
			clear(mine)
			continue
		}
		if err := k.head.act(k.net.group(j), k.net.Row(0, j), o, j, draws, mine); err != nil {
			return fmt.Errorf("%s %d: %w", k.kind.Name, j, err)
		}
	}
	return nil
}

// Scores returns what the network of a kind gives for its agents, [agents, outputs], before the head makes actions of it.
func (p *Policy) Scores(kind int, o *envs.KindObservation) ([]float32, error) {
	n := p.kinds[kind].net
	n.Noise(nil)
	err := n.Run(o.Values, o.Active)
	return slices.Clone(n.out), err
}
