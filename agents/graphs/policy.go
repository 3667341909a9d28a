package graphs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Policy is a learned policy over graphs with frozen weights. It draws each component from the softmax of its scores or, deterministic, takes
// the legal choice with the largest. Its changing state is the stream of those draws.
type Policy struct {
	file  *agents.PolicyFile
	agent string
	hash  [sha256.Size]byte
	prob  *Problem
	actor *Actor
	obs   []*envs.KindObservation
	act   [][]float32
	p     []float64

	draw, best Pick
	stream     rng.Stream
}

var _ agents.Policy = (*Policy)(nil)

// description is a policy file's JSON; the network's parameters are the array "network".
type description struct {
	// Format is the version of this description: graph/1.
	Format string `json:"format"`
	// Network is the architecture, as nets.EncodeArch writes it.
	Network json.RawMessage `json:"network"`
	// Choices are the numbers of choices of the components.
	Choices []int `json:"choices"`
}

const (
	format = "graph/1"
	array  = "network"
)

// Describes reports whether a policy file holds a policy over graphs.
func Describes(f *agents.PolicyFile) bool {
	var d struct{ Format any }
	return json.Unmarshal(f.Description, &d) == nil && d.Format == format
}

// NewPolicy returns a policy with the present parameters of net, which lie on engine train, to act on engine act. Agent is the
// learner's name in the table of agents.
func NewPolicy(agent string, spec *envs.Spec, train nets.Engine, net nets.GraphNet, act nets.Engine) (*Policy, error) {
	p, err := NewProblem(spec)
	if err != nil {
		return nil, err
	}
	arch, err := nets.EncodeArch(net.Arch())
	if err != nil {
		return nil, err
	}
	f := &agents.PolicyFile{Agent: agent, EnvID: spec.ID, Arrays: map[string]agents.Array{}}
	if f.Description, err = json.Marshal(description{Format: format, Network: arch, Choices: p.choices()}); err != nil {
		return nil, err
	}
	agents.PutTensor(f.Arrays, array, net.Params())
	if err := train.Err(); err != nil {
		return nil, fmt.Errorf("%s: reading the policy: %w", agent, err)
	}
	return OpenPolicy(agent, f, spec, act)
}

func (p *Problem) choices() []int {
	var n []int
	for _, c := range p.Components {
		n = append(n, c.N)
	}
	return n
}

// OpenPolicy builds a policy from a file that the named agent made, for an environment that offers the same spaces, on the engine act.
func OpenPolicy(agent string, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	p, err := open(agent, f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("%s: policy: %w", agent, err)
	}
	return p, nil
}

func open(agent string, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	if f.Agent != agent {
		return nil, fmt.Errorf("made by agent %q, want %q", f.Agent, agent)
	}
	if f.EnvID != spec.ID {
		return nil, fmt.Errorf("trained for %s, not for %s", f.EnvID, spec.ID)
	}
	prob, arch, err := describe(f.Description, spec)
	if err != nil {
		return nil, err
	}
	// Before anything is made of that size: a description of a few bytes can ask for gigabytes.
	if _, size := nets.Layout(arch); len(f.Arrays[array].Data) != size {
		return nil, fmt.Errorf("array %q has %d numbers, its architecture has %d", array, len(f.Arrays[array].Data), size)
	}
	net, err := act.NewGraphNet(arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, array, net.Params()); err != nil {
		return nil, err
	}
	p := &Policy{file: f, agent: agent, prob: prob, actor: NewActor(prob, act, net), obs: make([]*envs.KindObservation, 1), act: make([][]float32, 1)}
	p.hash = fingerprint(f)
	p.best = func(_, _ int, scores []float32, mask []bool) int { return choice.Best(scores, mask) }
	p.draw = func(_, _ int, scores []float32, mask []bool) int {
		p.p = resize(p.p, len(scores))
		choice.Softmax(p.p, scores, mask)
		return choice.Draw(p.p, p.stream.Float64())
	}
	return p, p.Reset(0)
}

// describe reads a description and holds it against the environment: its network must be one that [Problem.Policy] gives.
func describe(text []byte, spec *envs.Spec) (*Problem, nets.Graph, error) {
	var d description
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, nets.Graph{}, fmt.Errorf("description: %w", err)
	}
	if d.Format != format {
		return nil, nets.Graph{}, fmt.Errorf("description has format %q, want %q", d.Format, format)
	}
	prob, err := NewProblem(spec)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	a, err := nets.DecodeArch(d.Network)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	arch, ok := a.(nets.Graph)
	if !ok {
		return nil, nets.Graph{}, fmt.Errorf("network is of kind %q, want %q", a.Kind(), nets.Graph{}.Kind())
	}
	want := prob.Policy(Net{
		Hidden: arch.Hidden, Layers: arch.Layers, Own: arch.Own, Skip: arch.Skip, Norm: arch.Norm, Dropout: arch.Dropout,
		BothWays: len(arch.Edges) > len(prob.Space.Edges),
	}, 0)
	for i := range arch.Heads {
		arch.Heads[i].FinalBound = 0 // of no more importance
	}
	is, err := nets.EncodeArch(arch)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	wanted, err := nets.EncodeArch(want)
	if err != nil {
		return nil, nets.Graph{}, err
	}
	if !bytes.Equal(is, wanted) {
		return nil, nets.Graph{}, fmt.Errorf("network takes nodes %v, edges %v and chooses %v; the environment's graph is %v with choices %v", arch.Nodes, arch.Edges, d.Choices, prob.Space, prob.choices())
	}
	return prob, arch, nil
}

// Name implements [envs.Policy]: the agent's name.
func (p *Policy) Name() string { return p.agent }

// Export implements [agents.Policy]. The file belongs to the policy and must not be modified.
func (p *Policy) Export() (*agents.PolicyFile, error) { return p.file, nil }

// Reset implements [envs.Policy].
func (p *Policy) Reset(seed uint64) error {
	p.stream = *rng.NewStream(seed, "graphs: policy")
	return nil
}

// Act implements [envs.Policy].
func (p *Policy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	p.obs[0], p.act[0] = &obs.Kinds[0], act.Kinds[0]
	pick := p.draw
	if deterministic {
		pick = p.best
	}
	if err := p.actor.Run(p.obs, p.act, pick); err != nil {
		return fmt.Errorf("%s: policy: %w", p.agent, err)
	}
	return nil
}

// CopyFrom implements [envs.Policy]: src must be opened from the same file.
func (p *Policy) CopyFrom(src envs.Policy) error {
	s, ok := src.(*Policy)
	if !ok || s.hash != p.hash {
		return fmt.Errorf("%s: policy can't be made equal to %s: they have other weights", p.agent, src.Name())
	}
	p.stream = s.stream
	return nil
}

// AppendBinary implements [envs.Policy]: the stream, and which weights it belongs to.
func (p *Policy) AppendBinary(b []byte) ([]byte, error) {
	return p.stream.AppendBinary(append(b, p.hash[:]...))
}

// UnmarshalBinary implements [envs.Policy].
func (p *Policy) UnmarshalBinary(b []byte) error {
	if len(b) < len(p.hash) || [sha256.Size]byte(b[:len(p.hash)]) != p.hash {
		return errors.New(p.agent + ": policy: the state belongs to other weights")
	}
	return p.stream.UnmarshalBinary(b[len(p.hash):])
}

// fingerprint hashes a file's content.
func fingerprint(f *agents.PolicyFile) (sum [sha256.Size]byte) {
	h := sha256.New()
	// A hash's Write never fails.
	_, _ = h.Write([]byte(f.Agent + "\x00" + f.EnvID + "\x00"))
	_, _ = h.Write(f.Description)
	b := make([]byte, 0, 4*len(f.Arrays[array].Data))
	for _, x := range f.Arrays[array].Data {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	_, _ = h.Write(b)
	h.Sum(sum[:0])
	return sum
}
