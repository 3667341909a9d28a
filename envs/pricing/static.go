package pricing

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// Static is a window policy that holds a configuration's prices and baselines. It has no state.
type Static struct{ row []float32 }

// NewStatic returns the policy that holds c.Prices and c.Baselines.
func NewStatic(c *Config) *Static {
	p := &Static{}
	for _, x := range c.Prices {
		p.row = append(p.row, float32(x))
	}
	for _, n := range c.Baselines {
		p.row = append(p.row, float32(n))
	}
	return p
}

// Name implements [envs.Policy].
func (*Static) Name() string { return "static" }

// Reset implements [envs.Policy].
func (*Static) Reset(uint64) error { return nil }

// Act implements [envs.Policy].
func (p *Static) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	copy(act.Kinds[0], p.row)
	return nil
}

// CopyFrom implements [envs.Policy].
func (p *Static) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(p, src) }

// AppendBinary implements [envs.Policy].
func (p *Static) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *Static) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }

// State implements [state.Stater]: there is nothing to copy or save.
func (p *Static) State(c *state.Codec) { c.Same("number of tiers", uint64(len(p.row)/2)) }
