package deeprm

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// queue numbers the visible jobs in the order of their arrival, which an observation does not show. A place that was
// empty and now holds a job holds the one that has just arrived; a place whose job was started now holds the oldest of
// the backlog. Both arrived after all other visible jobs.
type queue struct {
	numbers []uint32 // by place, from 1; 0 where there is no job
	last    uint32   // the largest number so far
	chosen  int32    // place whose job was started last, −1 where time passed
}

func newQueue(places int) queue { return queue{numbers: make([]uint32, places), chosen: -1} }

func (q *queue) reset() {
	clear(q.numbers)
	q.last, q.chosen = 0, -1
}

// observe updates the numbers from an observation.
func (q *queue) observe(v *view, values []float32) {
	for i := range q.numbers {
		switch {
		case v.Length(values, i) == 0:
			q.numbers[i] = 0
		case q.numbers[i] == 0 || i == int(q.chosen):
			q.last++
			q.numbers[i] = q.last
		}
	}
}

// State implements [state.Stater].
func (q *queue) State(c *state.Codec) {
	state.Fixed(c, q.numbers)
	state.Value(c, &q.last)
	state.Value(c, &q.chosen)
	c.Check(q.chosen >= -1 && int(q.chosen) < len(q.numbers), "the job in place %d was started, want -1 to %d", q.chosen,
		len(q.numbers)-1)
}

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
	kept.Policy
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
	p := &FCFS{view: v, config: c, queue: newQueue(v.Visible)}
	p.Policy = kept.As("fcfs", p)
	return p, nil
}

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
	kept.Policy
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
	p.Policy = kept.As("sjf", p)
	return p, p.Reset(0)
}

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

// Random starts any of the jobs that fit, with equal probability; it lets time pass only where none fits.
type Random struct {
	kept.Policy
	view
	stream *rng.Stream
}

// NewRandom returns a policy for environments such as env.
func NewRandom(env envs.Env) (*Random, error) {
	v, err := newView("random", env)
	if err != nil {
		return nil, err
	}
	p := &Random{view: v, stream: rng.NewStream(0, "random job")}
	p.Policy = kept.As("random", p)
	return p, nil
}

// Reset implements [envs.Policy].
func (p *Random) Reset(seed uint64) error {
	*p.stream = *rng.NewStream(seed, "random job")
	return nil
}

// Act implements [envs.Policy]. It draws even where a deterministic action is asked for: it has no other.
func (p *Random) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	chosen, n := -1, 0
	for i := range p.Visible {
		// Reservoir sampling: the n-th job replaces the one chosen so far with probability 1/n.
		if p.fits(o, i) {
			if n++; n == 1 || p.stream.IntN(n) == 0 {
				chosen = i
			}
		}
	}
	p.choose(act, chosen)
	return nil
}

// State implements [state.Stater].
func (p *Random) State(c *state.Codec) { state.Value(c, p.stream) }

// PackerConfig has no settings.
type PackerConfig struct{}

// DefaultPacker returns the only configuration.
func DefaultPacker() PackerConfig { return PackerConfig{} }

// Packer starts, of the jobs that fit, the one with the largest alignment Σ_r free_r·demand_r, in the lowest place of
// several. It ignores how long jobs run.
type Packer struct{ stateless }

// NewPacker returns a policy for environments such as env.
func NewPacker(_ PackerConfig, env envs.Env) (*Packer, error) {
	r, err := newStateless("packer", env)
	if err != nil {
		return nil, err
	}
	return &Packer{r}, nil
}

// Act implements [envs.Policy].
func (p *Packer) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	best, most := -1, 0
	for i := range p.Visible {
		if !p.fits(o, i) {
			continue
		}
		if a := p.alignment(o.Values, i); a > most {
			best, most = i, a
		}
	}
	p.choose(act, best)
	return nil
}

// TetrisStarConfig configures [TetrisStar].
type TetrisStarConfig struct {
	// K is the weight of packing: 1 is Packer, 0 is SJF. No source gives DeepRM's value; 0.2 and 0.5 are equally good,
	// and better than 0.8.
	K float64 `yaml:"k" json:"k" range:"[0,1]"`
}

// DefaultTetrisStar returns equal weights.
func DefaultTetrisStar() TetrisStarConfig { return TetrisStarConfig{K: 0.5} }

// Validate reports the first wrong field.
func (c *TetrisStarConfig) Validate() error { return bounds.Check(c) }

// TetrisStar is DeepRM's Tetris*, for one machine. Of the jobs that fit it starts the one with the largest
//
//	k · Σ_r free_r·demand_r / (R·C²) + (1 − k) / length
//
// with R resources of C slots, in the lowest place of several. DeepRM's code adds the two terms unscaled; here both are
// at most 1.
type TetrisStar struct {
	stateless
	config TetrisStarConfig
}

// NewTetrisStar returns a policy for environments such as env.
func NewTetrisStar(c TetrisStarConfig, env envs.Env) (*TetrisStar, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r, err := newStateless("tetris-star", env)
	if err != nil {
		return nil, err
	}
	return &TetrisStar{r, c}, nil
}

// Act implements [envs.Policy].
func (p *TetrisStar) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	o := &obs.Kinds[0]
	all := float64(p.Resources * p.Slots * p.Slots)
	best, most := -1, 0.0
	for i := range p.Visible {
		if !p.fits(o, i) {
			continue
		}
		s := float64(p.config.K*float64(p.alignment(o.Values, i)))/all + (1-p.config.K)/float64(p.Length(o.Values, i))
		if best < 0 || s > most {
			best, most = i, s
		}
	}
	p.choose(act, best)
	return nil
}
