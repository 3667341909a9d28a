package deeprm

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// FCFSConfig configures [FCFS].
type FCFSConfig struct {
	// Backfill starts the oldest job that fits; without it all wait until the oldest one fits.
	Backfill bool `yaml:"backfill" json:"backfill"`
}

// DefaultFCFS returns strict first come, first served.
func DefaultFCFS() FCFSConfig { return FCFSConfig{} }

// FCFS starts jobs in the order of their arrival, whatever they need. Where the oldest visible job does not fit, it
// lets time pass.
type FCFS struct {
	view
	config FCFSConfig
	queue  queue
}

// NewFCFS returns a policy for environments such as env.
func NewFCFS(c FCFSConfig, env envs.Env) (*FCFS, error) {
	v, err := newView("fcfs", env)
	if err != nil {
		return nil, err
	}
	return &FCFS{view: v, config: c, queue: newQueue(v.Visible)}, nil
}

// Name implements [envs.Policy].
func (*FCFS) Name() string { return "fcfs" }

// Reset implements [envs.Policy].
func (p *FCFS) Reset(uint64) error {
	p.queue.reset()
	return nil
}

// Act implements [envs.Policy].
func (p *FCFS) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	p.queue.observe(&p.view, o.Values)
	oldest := -1
	for i, n := range p.queue.numbers {
		if n > 0 && (oldest < 0 || n < p.queue.numbers[oldest]) && (!p.config.Backfill || p.fits(o, i)) {
			oldest = i
		}
	}
	if oldest >= 0 && !p.fits(o, oldest) {
		oldest = -1
	}
	p.queue.chosen = int32(oldest)
	p.choose(act, oldest)
	return nil
}

// State implements [state.Stater].
func (p *FCFS) State(c *state.Codec) { c.Part(&p.queue) }

// CopyFrom implements [envs.Policy].
func (p *FCFS) CopyFrom(src envs.Policy) error {
	s, ok := src.(*FCFS)
	if !ok || s.config != p.config {
		return fmt.Errorf("fcfs: cannot be copied from %s, or its settings differ", src.Name())
	}
	return state.Copy(p, s)
}

// AppendBinary implements [envs.Policy].
func (p *FCFS) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, p.Name(), p) }

// UnmarshalBinary implements [envs.Policy].
func (p *FCFS) UnmarshalBinary(b []byte) error { return state.Load(b, p.Name(), p) }
