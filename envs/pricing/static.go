package pricing

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
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
func (p *Static) CopyFrom(src envs.Policy) error {
	if s, ok := src.(*Static); !ok || len(s.row) != len(p.row) {
		return fmt.Errorf("static: cannot be copied from a %T of another configuration", src)
	}
	return nil
}

// AppendBinary implements [envs.Policy]: there is nothing to save.
func (*Static) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary implements [envs.Policy].
func (*Static) UnmarshalBinary(b []byte) error {
	if len(b) != 0 {
		return errors.New("static: saved state has bytes, want none")
	}
	return nil
}
