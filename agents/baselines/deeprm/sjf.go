package deeprm

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// SJFConfig configures [SJF].
type SJFConfig struct {
	// Noise is the standard deviation of the logarithm of estimated over true length; 0 knows the true length. A job's
	// estimate does not change while it waits.
	Noise float64 `yaml:"noise" json:"noise" range:"[0,10]"`
}

// DefaultSJF returns the rule that knows every length.
func DefaultSJF() SJFConfig { return SJFConfig{} }

// Validate reports the first wrong field.
func (c *SJFConfig) Validate() error { return bounds.Check(c) }

// SJF starts the shortest job that fits, in the lowest place of several.
type SJF struct {
	view
	config    SJFConfig
	queue     queue // numbers the jobs, so that each keeps its estimate
	seed      uint64
	estimates rng.Key
}

// NewSJF returns a policy for environments such as env.
func NewSJF(c SJFConfig, env envs.Env) (*SJF, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	v, err := newView("sjf", env)
	if err != nil {
		return nil, err
	}
	p := &SJF{view: v, config: c, queue: newQueue(v.Visible)}
	return p, p.Reset(0)
}

// Name implements [envs.Policy].
func (*SJF) Name() string { return "sjf" }

// Reset implements [envs.Policy].
func (p *SJF) Reset(seed uint64) error {
	p.begin(seed)
	p.queue.reset()
	return nil
}

func (p *SJF) begin(seed uint64) { p.seed, p.estimates = seed, rng.New(seed, "estimated length") }

// Act implements [envs.Policy].
func (p *SJF) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	var best int
	if p.config.Noise > 0 {
		best = p.estimated(o)
	} else {
		best = p.shortest(o)
	}
	p.choose(act, best)
	return nil
}

// shortest returns the shortest job that fits. Where the mask says which jobs fit (the common case, and a hot path),
// length and place are compared as one number without branches, because a branch on whether a job fits can't be
// predicted.
func (p *SJF) shortest(o *envs.KindObservation) int {
	if !p.exact || p.Image {
		best, least := -1, 0
		for i := range p.Visible {
			if !p.fits(o, i) {
				continue
			}
			if length := p.Length(o.Values, i); best < 0 || length < least {
				best, least = i, length
			}
		}
		return best
	}
	const none = int64(1) << 62
	least := none
	for i, legal := range o.Mask[:p.Visible] {
		x := int64(p.Length(o.Values, i))<<32 | int64(i)
		if !legal {
			x = none
		}
		least = min(least, x)
	}
	if least == none {
		return -1
	}
	return int(least & (1<<32 - 1))
}

// estimated returns the job with the smallest estimated length, of those that fit.
func (p *SJF) estimated(o *envs.KindObservation) int {
	p.queue.observe(&p.view, o.Values)
	best, least := -1, 0.0
	for i := range p.Visible {
		if !p.fits(o, i) {
			continue
		}
		z := p.estimates.With(uint64(p.queue.numbers[i])).Norm()
		length := float64(p.Length(o.Values, i)) * portable.Exp(p.config.Noise*z)
		if best < 0 || length < least {
			best, least = i, length
		}
	}
	p.queue.chosen = int32(best)
	return best
}

// State implements [state.Stater].
func (p *SJF) State(c *state.Codec) {
	state.Value(c, &p.seed)
	c.Part(&p.queue)
	if c.Filled() {
		p.begin(p.seed)
	}
}

// CopyFrom implements [envs.Policy].
func (p *SJF) CopyFrom(src envs.Policy) error {
	s, ok := src.(*SJF)
	if !ok || s.config != p.config {
		return fmt.Errorf("sjf: cannot be copied from %s, or its settings differ", src.Name())
	}
	return state.Copy(p, s)
}

// AppendBinary implements [envs.Policy].
func (p *SJF) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *SJF) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }
