package frozen

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
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
