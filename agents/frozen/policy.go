package frozen

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// Policy is a policy with frozen weights but for how it acts: a policy embeds it and adds Act. Its changing state is the stream of its draws.
type Policy struct {
	// Draws is where a policy that is not deterministic draws from.
	Draws rng.Stream
	// File is what the policy was opened from. It must not be modified.
	File *agents.PolicyFile

	name    string
	purpose string
	sum     [sha256.Size]byte
}

// New returns the policy of a file, whose agent is named in errors. Results call it name, purpose names its stream of draws, and sum
// ([Sum]) is of all that makes it what it is. It is reset, with seed 0.
func New(f *agents.PolicyFile, name, purpose string, sum [sha256.Size]byte) Policy {
	return Policy{Draws: *rng.NewStream(0, purpose), File: f, name: name, purpose: purpose, sum: sum}
}

// self finds the policy in what embeds it.
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

// CopyFrom implements [envs.Policy]: src must be opened from the same file.
func (p *Policy) CopyFrom(src envs.Policy) error {
	s, ok := src.(interface{ self() *Policy })
	if !ok || s.self().sum != p.sum {
		return fmt.Errorf("%s: policy %s can't be made equal to %s: they have other weights", p.File.Agent, p.name, src.Name())
	}
	p.Draws = s.self().Draws
	return nil
}

// AppendBinary implements [envs.Policy]: which weights the state belongs to, 32 bytes, and the stream.
func (p *Policy) AppendBinary(b []byte) ([]byte, error) {
	return p.Draws.AppendBinary(append(b, p.sum[:]...))
}

// UnmarshalBinary implements [envs.Policy].
func (p *Policy) UnmarshalBinary(b []byte) error {
	if len(b) < len(p.sum) || [sha256.Size]byte(b[:len(p.sum)]) != p.sum {
		return errors.New(p.File.Agent + ": policy: the state belongs to other weights")
	}
	return p.Draws.UnmarshalBinary(b[len(p.sum):])
}
