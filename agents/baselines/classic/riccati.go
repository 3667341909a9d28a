// Package classic holds the known optima of problems in envs/classic, as rivals.
package classic

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/state"
)

// RiccatiConfig has no settings.
type RiccatiConfig struct{}

// DefaultRiccati returns the only configuration.
func DefaultRiccati() RiccatiConfig { return RiccatiConfig{} }

// Riccati is the best linear control of the linear-quadratic regulator, −gain·x with the gain of Riccati's equation for a
// mean over time, within the bounds of the control. It has no state.
type Riccati struct{ gain, bound float32 }

// NewRiccati returns a policy for environments such as env, which must be an LQR.
func NewRiccati(_ RiccatiConfig, env envs.Env) (*Riccati, error) {
	e, ok := envs.As[*classic.LQR](env)
	if !ok {
		return nil, fmt.Errorf("riccati: acts in %s only, not in %s", classic.LQRID, env.Spec().ID)
	}
	c := e.Config()
	_, gain := c.Riccati(1)
	return &Riccati{float32(gain), float32(c.Bound)}, nil
}

// Name implements [envs.Policy].
func (*Riccati) Name() string { return "riccati" }

// Reset implements [envs.Policy].
func (*Riccati) Reset(uint64) error { return nil }

// Act implements [envs.Policy].
func (p *Riccati) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = min(max(-p.gain*obs.Kinds[0].Values[0], -p.bound), p.bound)
	return nil
}

// State implements [state.Stater]: nothing changes.
func (*Riccati) State(*state.Codec) {}

// CopyFrom implements [envs.Policy].
func (p *Riccati) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(p, src) }

// AppendBinary implements [envs.Policy].
func (p *Riccati) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *Riccati) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }
