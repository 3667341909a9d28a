package deeprm

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Random starts any of the jobs that fit, with equal probability; it lets time pass only where none fits.
type Random struct {
	view
	stream *rng.Stream
}

// NewRandom returns a policy for environments such as env.
func NewRandom(env envs.Env) (*Random, error) {
	v, err := newView("random", env)
	if err != nil {
		return nil, err
	}
	return &Random{v, rng.NewStream(0, "random job")}, nil
}

// Name implements [envs.Policy].
func (*Random) Name() string { return "random" }

// Reset implements [envs.Policy].
func (p *Random) Reset(seed uint64) error {
	*p.stream = *rng.NewStream(seed, "random job")
	return nil
}

// Act implements [envs.Policy]. It draws even where a deterministic action is asked for: it has no other.
func (p *Random) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	chosen, n := -1, 0
	for i := range p.Visible {
		// Reservoir sampling: the n-th job replaces the one chosen so far with probability 1/n.
		if p.fits(o, i) {
			if n++; n == 1 || p.stream.IntN(n) == 0 {
				chosen = i
			}
		}
	}
	p.choose(act, chosen)
	return nil
}

// State implements [state.Stater].
func (p *Random) State(c *state.Codec) { state.Value(c, p.stream) }

// CopyFrom implements [envs.Policy].
func (p *Random) CopyFrom(src envs.Policy) error {
	s, ok := src.(*Random)
	if !ok {
		return fmt.Errorf("%s: cannot be copied from %s", p.Name(), src.Name())
	}
	return state.Copy(p, s)
}

// AppendBinary implements [envs.Policy].
func (p *Random) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *Random) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }
