// Package frozen is what policies with frozen weights have in common: reading a policy file's description
// ([Describe], [Fits]), the fingerprint of its content ([Sum]), and all of [envs.Policy] except acting ([Policy]).
//
// Not here: what a description says and how a policy acts (agents/actor, agents/firm), and
// the files themselves (checkpoints).
package frozen

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Policy is all of a policy with frozen weights except how it acts: a policy embeds it and adds Act. Its state is the
// stream of its draws.
type Policy struct {
	// Draws is the stream of a stochastic policy.
	Draws rng.Stream
	// File is what the policy was opened from. It must not be modified.
	File *agents.PolicyFile

	name    string
	purpose string
	sum     uint64
}

// New returns the policy of a file, reset with seed 0. Results call it name, purpose names its stream of draws, and sum
// is the fingerprint of its content, see [Sum].
func New(f *agents.PolicyFile, name, purpose string, sum uint64) Policy {
	return Policy{Draws: *rng.NewStream(0, purpose), File: f, name: name, purpose: purpose, sum: sum}
}

// self finds the Policy in a type that embeds it.
func (p *Policy) self() *Policy { return p }

// Name implements [envs.Policy].
func (p *Policy) Name() string { return p.name }

// Export implements [agents.Policy]: it returns File.
func (p *Policy) Export() (*agents.PolicyFile, error) { return p.File, nil }

// Reset implements [envs.Policy].
func (p *Policy) Reset(seed uint64) error {
	p.Draws = *rng.NewStream(seed, p.purpose)
	return nil
}

// State implements [state.Stater]: it belongs to these weights alone.
func (p *Policy) State(c *state.Codec) {
	c.Same("weights", p.sum)
	state.Value(c, &p.Draws)
}

// CopyFrom implements [envs.Policy]: src must be opened from the same file.
func (p *Policy) CopyFrom(src envs.Policy) error {
	s, ok := src.(interface{ self() *Policy })
	if !ok {
		return fmt.Errorf("%s: policy %s cannot be copied from a %T", p.File.Agent, p.name, src)
	}
	if err := state.Copy(p, s.self()); err != nil {
		return fmt.Errorf("%s: policy %s cannot be copied from %s: %w", p.File.Agent, p.name, src.Name(), err)
	}
	return nil
}

// AppendBinary implements [envs.Policy].
func (p *Policy) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.kind(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *Policy) UnmarshalBinary(b []byte) error { return state.Load(b, p.kind(), p) }

func (p *Policy) kind() string { return p.File.Agent + ": policy" }

// Describe reads a file's description into description, a pointer to a struct without room for other keys. The file
// must be one that was made for the environment of spec.
func Describe(f *agents.PolicyFile, spec *envs.Spec, description any) error {
	if f.EnvID != spec.ID {
		return fmt.Errorf("trained for %s, not for %s", f.EnvID, spec.ID)
	}
	dec := json.NewDecoder(bytes.NewReader(f.Description))
	dec.DisallowUnknownFields()
	if err := dec.Decode(description); err != nil {
		return fmt.Errorf("description: %w", err)
	}
	return nil
}

// Fits says whether an array holds as many numbers as an architecture has parameters. It is asked before anything is
// made of that size: a description of a few bytes can ask for gigabytes.
func Fits(f *agents.PolicyFile, array string, arch nets.Arch) error {
	_, size := nets.Layout(arch)
	size *= arch.Groups()
	if got := len(f.Arrays[array].Data); got != size {
		return fmt.Errorf("array %q has %d numbers, its architecture has %d", array, got, size)
	}
	return nil
}

// Sum is the fingerprint of a file's content: agent, environment, description, and the arrays in the order given.
// States of policies carry it.
func Sum(f *agents.PolicyFile, arrays ...string) uint64 {
	h := sha256.New()
	write := func(b []byte) { _, _ = h.Write(b) } // a hash's Write never fails
	write([]byte(f.Agent + "\x00" + f.EnvID + "\x00"))
	write(f.Description)
	for _, name := range arrays {
		write([]byte("\x00" + name + "\x00"))
		data := f.Arrays[name].Data
		b := make([]byte, 0, 4*len(data))
		for _, x := range data {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		write(b)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}
