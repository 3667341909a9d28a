package sizing

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// RandomSearchConfig is the search budget of [RandomSearch].
type RandomSearchConfig struct {
	// Windows is the number of random configurations tried; FaaSConf gives every search 15.
	Windows int `yaml:"windows" json:"windows" range:"[1,]"`
	// Low and High bound every component of the configurations drawn.
	Low  float64 `yaml:"low" json:"low" range:"[0,1)"`
	High float64 `yaml:"high" json:"high" range:"(0,1]"`
}

// DefaultRandomSearch returns FaaSConf's budget over the whole range.
func DefaultRandomSearch() RandomSearchConfig {
	return RandomSearchConfig{Windows: 15, Low: 0, High: 1}
}

// Validate reports the first wrong number.
func (c *RandomSearchConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.Low >= c.High {
		return bounds.Errorf("low", "is %g, want less than high, %g", c.Low, c.High)
	}
	return nil
}

// RandomSearch draws each component of each function's configuration uniformly for a number of windows, then holds the
// cheapest of those that kept the QoS. Where none kept it, it holds the one with the largest share of successes, the
// cheapest of several, because it must run something.
type RandomSearch struct {
	trials
	config RandomSearchConfig
	stream *rng.Stream
}

// NewRandomSearch returns a tuner for environments such as env.
func NewRandomSearch(c RandomSearchConfig, env envs.Env) (*RandomSearch, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &RandomSearch{config: c}
	var err error
	if p.trials, err = newTrials("random-search", c.Windows, env); err != nil {
		return nil, err
	}
	return p, p.Reset(0)
}

// Name implements [envs.Tuner].
func (*RandomSearch) Name() string { return "random-search" }

// Reset implements [envs.Tuner].
func (p *RandomSearch) Reset(seed uint64) error {
	p.stream = rng.NewStream(seed, "random search")
	p.reset()
	return nil
}

// Propose implements [envs.Tuner].
func (p *RandomSearch) Propose(_ *envs.Observation, act *envs.Action) error {
	if p.holds(act) {
		return nil
	}
	a := act.Kinds[0]
	for i := range a {
		a[i] = float32(p.config.Low + float64(p.stream.Float64()*(p.config.High-p.config.Low)))
	}
	return nil
}

// Observe implements [envs.Tuner]. Rows of a library change nothing.
func (p *RandomSearch) Observe(act *envs.Action, out *envs.Outcome) error {
	p.count(act, out)
	return nil
}

// State implements [state.Stater].
func (p *RandomSearch) State(c *state.Codec) {
	state.Value(c, p.stream)
	p.trials.State(c)
}

// AppendBinary implements [envs.Tuner].
func (p *RandomSearch) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Tuner].
func (p *RandomSearch) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }
