// Package classic holds the known optima of problems in envs/classic, as baselines.
package classic

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
)

// RiccatiConfig has no settings.
type RiccatiConfig struct{}

// DefaultRiccati returns the only configuration.
func DefaultRiccati() RiccatiConfig { return RiccatiConfig{} }

// Riccati is the best linear control of the linear-quadratic regulator, −gain·x with the gain of Riccati's equation for a
// mean over time, within the bounds of the control. It has no state.
type Riccati struct {
	kept.Policy
	gain, bound float32
}

// NewRiccati returns a policy for environments such as env, which must be an LQR.
func NewRiccati(_ RiccatiConfig, env envs.Env) (*Riccati, error) {
	e, ok := envs.As[*classic.LQR](env)
	if !ok {
		return nil, fmt.Errorf("riccati: acts in %s only, not in %s", classic.LQRID, env.Spec().ID)
	}
	c := e.Config()
	_, gain := c.Riccati(1)
	p := &Riccati{gain: float32(gain), bound: float32(c.Bound)}
	p.Policy = kept.As("riccati", p)
	return p, nil
}

// Act implements [envs.Policy].
func (p *Riccati) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = min(max(-p.gain*obs.Kinds[0].Values[0], -p.bound), p.bound)
	return nil
}
