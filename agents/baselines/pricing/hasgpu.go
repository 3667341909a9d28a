package pricing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/state"
)

// HASConfig configures [HASGPU]. The filter's numbers are the published code's. Thresholds and floor are adapted to
// jobs per slot, where the code has requests per second.
type HASConfig struct {
	// Process and Measurement are the variances Q and R of the Kalman filter, Initial is its first P.
	Process     float64 `yaml:"process" json:"process" range:"[0,1e9]"`
	Measurement float64 `yaml:"measurement" json:"measurement" range:"[1e-9,1e9]"`
	Initial     float64 `yaml:"initial" json:"initial" range:"[0,1e9]"`
	// Margin is alpha: the number of standard deviations added to the prediction (1 in the code).
	Margin float64 `yaml:"margin" json:"margin" range:"[0,1e3]"`
	// Floor is added to the measured rate where the sum is more than the prediction (5 requests/s in the code); 0 turns
	// it off.
	Floor float64 `yaml:"floor" json:"floor" range:"[0,1e9]"`
	// WriteBack writes the prediction with margin and floor back to the filter, as the code does.
	WriteBack bool `yaml:"write_back" json:"write_back"`
	// Up and Down are the shares of the capacity above and below which a function is scaled (0.9 and 0.3 in the code).
	Up   float64 `yaml:"up" json:"up" range:"[1e-3,1]"`
	Down float64 `yaml:"down" json:"down" range:"[0,1]"`
}

// DefaultHAS returns the settings for slots.
func DefaultHAS() HASConfig {
	return HASConfig{Process: 1, Measurement: 10, Initial: 1, Up: 0.9, Down: 0.6}
}

// Validate reports the first wrong field.
func (c *HASConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.Down > c.Up {
		return bounds.Errorf("down", "is %g, want at most up, %g", c.Down, c.Up)
	}
	return nil
}

// HASGPU is HAS-GPU's autoscaler on an elastic pool with shared GPUs (layout.warm: shared). A Kalman filter predicts
// each function's rate. Where the prediction exceeds the share Up of the capacity, the function gets slices: first
// vertically (on a GPU that hosts it, which needs no load), then horizontally (on the least occupied GPU). Below the
// share Down it loses slices, but keeps one. The environment chooses among the GPUs of a kind; where two functions ask
// for the last slice of a GPU, one waits a slot.
type HASGPU struct {
	kept.Policy
	world
	config         HASConfig
	rate, variance []float64 // x and P
}

// NewHAS returns the scheduler for environments such as env.
func NewHAS(c HASConfig, env envs.Env) (*HASGPU, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("has-gpu: %w", err)
	}
	w, err := newWorld("has-gpu", env, pricing.Elastic)
	if err != nil {
		return nil, err
	}
	if w.cfg.Layout.Warm != pricing.WarmShared {
		return nil, fmt.Errorf("has-gpu: the environment's layout.warm is %s, want %s", w.cfg.Layout.Warm, pricing.WarmShared)
	}
	p := &HASGPU{world: w, config: c, rate: make([]float64, w.n), variance: make([]float64, w.n)}
	p.Policy = kept.As("has-gpu", p)
	return p, p.Reset(0)
}

// Reset implements [envs.Policy].
func (p *HASGPU) Reset(uint64) error {
	clear(p.rate)
	for f := range p.variance {
		p.variance[f] = p.config.Initial
	}
	return nil
}

// predict is one step of the filter with the measured rate z (A = H = 1).
func (p *HASGPU) predict(f int, z float64) float64 {
	c := &p.config
	p.variance[f] += c.Process
	gain := p.variance[f] / (p.variance[f] + c.Measurement)
	p.rate[f] += float64(gain * (z - p.rate[f]))
	p.variance[f] = float64((1 - gain) * p.variance[f])
	x := p.rate[f] + float64(c.Margin*math.Sqrt(p.variance[f]))
	if c.Floor > 0 {
		x = max(x, z+c.Floor)
	}
	if c.WriteBack {
		p.rate[f] = x
	}
	return x
}

// change is the number of slices that a function should gain, or lose (negative), at a predicted rate, where a slice
// serves so many jobs (each) in a slot.
func (p *HASGPU) change(predicted, slices, each float64) int {
	capacity := float64(slices * each)
	switch {
	case predicted > float64(p.config.Up*capacity):
		need := predicted - float64(p.config.Up*capacity)
		return int(math.Ceil(need/each - 1e-9))
	case predicted < float64(p.config.Down*capacity):
		surplus := float64(p.config.Up*capacity) - predicted
		return -min(int(surplus/each+1e-9), int(slices)-1)
	}
	return 0
}

// Act implements [envs.Policy].
func (p *HASGPU) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	seen, do, err := p.rows(p.Name(), obs, act)
	if err != nil {
		return err
	}
	off := int(see(seen, 0, pricing.SeesOff))
	for f := range p.n {
		each := 1 / see(seen, f, pricing.SeesService)
		n := p.change(p.predict(f, see(seen, f, pricing.SeesArrived)), see(seen, f, pricing.SeesTransient), each)
		if n < 0 {
			do[f*pricing.Acts+pricing.ActRelease] = float32(min(-n, int(see(seen, f, pricing.SeesIdle))))
			continue
		}
		n = min(n, off)
		vertical := min(n, int(see(seen, f, pricing.SeesWarm)))
		off -= n
		do[f*pricing.Acts+pricing.ActWarm] = float32(vertical)
		do[f*pricing.Acts+pricing.ActCold] = float32(n - vertical)
	}
	return nil
}

// State implements [state.Stater].
func (p *HASGPU) State(c *state.Codec) {
	state.Fixed(c, p.rate)
	state.Fixed(c, p.variance)
	saved.Finite(c, "rate", p.rate...)
	saved.Finite(c, "variance", p.variance...)
}
