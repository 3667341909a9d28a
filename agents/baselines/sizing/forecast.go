package sizing

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// ForecastConfig configures [NewForecast].
type ForecastConfig struct {
	PlanConfig `yaml:",inline"`
}

// DefaultForecast returns 6,000 simulated windows for a decision, on 16 samples of five windows. With fewer samples the
// search finds plans that are good on them alone; with fewer windows it leaves too much work for those that follow.
func DefaultForecast() ForecastConfig {
	return ForecastConfig{PlanConfig{
		Horizon: 5, Weight: 20, Credit: 0.5, Samples: 16, Smooth: 0.1, Memory: 96, Sweeps: 1, Budget: 6000,
	}}
}

// Validate reports the first wrong number.
func (c *ForecastConfig) Validate() error { return bounds.Check(c) }

// NewForecast returns an [Oracle] that knows the law of the arrivals, but not the arrivals: the expected number of
// requests of the coming minutes and how they are placed within them. In each of its samples the arrivals to come, the
// work of the requests that have not begun, the interference and the gateway's choices are drawn anew. It is the bound
// on policies that cannot see into the future, as far as its search goes.
func NewForecast(c ForecastConfig, env envs.Env) (*Oracle, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := newPlanner("forecast", c.PlanConfig, env)
	if err != nil {
		return nil, err
	}
	p.foresee = func(e *sizing.Env, decision, sample uint64) {
		salt := decision<<16 | (sample + 1)
		e.Salt(salt)
		e.Resample(salt)
	}
	return p, nil
}
