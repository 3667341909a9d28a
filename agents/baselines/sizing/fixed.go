package sizing

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// FixedConfig configures [Fixed].
type FixedConfig struct {
	// Configuration is every function's configuration as numbers in [0, 1]: cpu, memory, replicas, concurrency. The
	// default is the middle of each range: for the machine-learning workflows 1125 mC, 1152 MB, 4 replicas and 5
	// requests in each.
	Configuration []float64 `yaml:"configuration" json:"configuration" range:"[0,1]"`
}

// DefaultFixed returns the middle of every range.
func DefaultFixed() FixedConfig { return FixedConfig{Configuration: middle()} }

// Validate reports the first wrong number.
func (c *FixedConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	return checkShares("configuration", c.Configuration)
}

// Fixed always holds one configuration. It has no state.
type Fixed struct {
	world
	config FixedConfig
	row    []float32
}

// NewFixed returns a policy for environments such as env.
func NewFixed(c FixedConfig, env envs.Env) (*Fixed, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Fixed{config: c}
	var err error
	if _, p.world, err = newWorld("fixed", env); err != nil {
		return nil, err
	}
	if _, err := p.resources("configuration", c.Configuration); err != nil {
		return nil, err
	}
	for _, x := range c.Configuration[:p.rng.Components()] {
		p.row = append(p.row, float32(x))
	}
	return p, nil
}

// Name implements [envs.Policy].
func (*Fixed) Name() string { return "fixed" }

// Reset implements [envs.Policy].
func (*Fixed) Reset(uint64) error { return nil }

// Act implements [envs.Policy].
func (p *Fixed) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	for f := range p.n {
		copy(p.action(act, f), p.row)
	}
	return nil
}

// State implements [state.Stater]: nothing changes.
func (p *Fixed) State(*state.Codec) {}

// CopyFrom implements [envs.Policy].
func (p *Fixed) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(p, src) }

// AppendBinary implements [envs.Policy].
func (p *Fixed) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *Fixed) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }
