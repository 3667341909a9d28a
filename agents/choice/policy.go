package choice

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Policy is a learned policy: a network with frozen weights that scores choices. It takes the legal choice with the largest score or, where
// its scores are logits and no deterministic action is asked for, draws from their softmax. Its changing state is the stream of those
// draws.
type Policy struct {
	file   *agents.PolicyFile
	agent  string
	logits bool
	hash   [sha256.Size]byte
	prob   Problem
	actor  *Actor
	p      []float64
	stream rng.Stream
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

// NewPolicy returns a policy with the present parameters of net, which lie on engine train, to act on engine act. Agent is the
// learner's name in the table of agents.
func NewPolicy(agent string, logits bool, spec *envs.Spec, train nets.Engine, net nets.Net, act nets.Engine) (*Policy, error) {
	arch, err := nets.EncodeArch(net.Arch())
	if err != nil {
		return nil, err
	}
	f := &agents.PolicyFile{Agent: agent, EnvID: spec.ID, Arrays: map[string]agents.Array{}}
	f.Description, err = json.Marshal(description{Format: format, Logits: logits, Network: arch, Choices: net.Arch().Output().Width})
	if err != nil {
		return nil, err
	}
	agents.PutTensor(f.Arrays, array, net.Params())
	if err := train.Err(); err != nil {
		return nil, fmt.Errorf("%s: reading the policy: %w", agent, err)
	}
	return OpenPolicy(agent, logits, f, spec, act)
}

// OpenPolicy builds a policy from a file that the named agent made, for an environment that offers the same spaces, on the engine act.
func OpenPolicy(agent string, logits bool, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	p, err := open(agent, logits, f, spec, act)
	if err != nil {
		return nil, fmt.Errorf("%s: policy: %w", agent, err)
	}
	return p, nil
}

func open(agent string, logits bool, f *agents.PolicyFile, spec *envs.Spec, act nets.Engine) (*Policy, error) {
	if f.Agent != agent {
		return nil, fmt.Errorf("made by agent %q, want %q", f.Agent, agent)
	}
	if f.EnvID != spec.ID {
		return nil, fmt.Errorf("trained for %s, not for %s", f.EnvID, spec.ID)
	}
	var d description
	dec := json.NewDecoder(bytes.NewReader(f.Description))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("description: %w", err)
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
	if in := arch.Inputs(); arch.AgentCount() != 1 || len(in) != 1 || in[0].Width != prob.Obs || arch.Output().Width != prob.N || d.Choices != prob.N {
		return nil, fmt.Errorf("network takes %v and scores %d of %d choices, the environment has observations of %d and %d choices",
			in, arch.Output().Width, d.Choices, prob.Obs, prob.N)
	}
	// Before anything is made of that size: a description of a few bytes can ask for gigabytes.
	if _, size := nets.Layout(arch); len(f.Arrays[array].Data) != size {
		return nil, fmt.Errorf("array %q has %d numbers, its architecture has %d", array, len(f.Arrays[array].Data), size)
	}
	net, err := act.NewNet(arch)
	if err != nil {
		return nil, err
	}
	if err := agents.GetTensor(f.Arrays, array, net.Params()); err != nil {
		return nil, err
	}
	p := &Policy{file: f, agent: agent, logits: logits, prob: prob, p: make([]float64, prob.N)}
	if p.actor, err = NewActor(act, net, prob.Agents); err != nil {
		return nil, err
	}
	p.hash = fingerprint(f)
	return p, p.Reset(0)
}

// Name implements [envs.Policy]: the agent's name.
func (p *Policy) Name() string { return p.agent }

// Export implements [agents.Policy]. The file belongs to the policy and must not be modified.
func (p *Policy) Export() (*agents.PolicyFile, error) { return p.file, nil }

// Reset implements [envs.Policy].
func (p *Policy) Reset(seed uint64) error {
	p.stream = *rng.NewStream(seed, "choice: policy")
	return nil
}

// Act implements [envs.Policy].
func (p *Policy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	o, a, n := &obs.Kinds[0], act.Kinds[0], p.prob.N
	if err := p.actor.Run(o.Values); err != nil {
		return fmt.Errorf("%s: policy: %w", p.agent, err)
	}
	for j, here := range o.Active {
		if !here {
			a[j] = 0
			continue
		}
		scores, mask := p.actor.Row(j), o.Mask[j*n:(j+1)*n]
		if err := Finite(scores); err != nil {
			return fmt.Errorf("%s: policy: %s %d: %w", p.agent, p.prob.Kind.Name, j, err)
		}
		var c int
		if p.logits && !deterministic {
			Softmax(p.p, scores, mask)
			c = Draw(p.p, p.stream.Float64())
		} else {
			c = Best(scores, mask)
		}
		if c == None {
			return fmt.Errorf("%s: policy: %s %d has no legal choice", p.agent, p.prob.Kind.Name, j)
		}
		a[j] = float32(c)
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
