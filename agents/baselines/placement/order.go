package placement

import (
	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// FCFSConfig configures [FCFS].
type FCFSConfig struct {
	// Amount is how much an invocation gets: nominal, smallest, largest or spread.
	Amount string `yaml:"amount" json:"amount" oneof:"nominal|smallest|largest|spread"`
	// Backfill starts the first invocation that fits; without it all wait until the first one fits.
	Backfill bool `yaml:"backfill" json:"backfill"`
}

// DefaultFCFS returns strict order and nominal amounts.
func DefaultFCFS() FCFSConfig { return FCFSConfig{Amount: Nominal} }

// Validate reports the first wrong field.
func (c *FCFSConfig) Validate() error { return bounds.Check(c) }

// FCFS starts invocations in the order in which they began to wait, each on the node on which it is expected to end
// first.
type FCFS struct {
	stateless
	config FCFSConfig
}

// NewFCFS returns a policy for environments such as env.
func NewFCFS(c FCFSConfig, env envs.Env) (*FCFS, error) {
	r, err := newStateless("fcfs-nodes", &c, c.Amount, env)
	if err != nil {
		return nil, err
	}
	p := &FCFS{r, c}
	p.rule = p.decide
	return p, nil
}

// decide returns the rule's choice.
func (p *FCFS) decide(o *envs.KindObservation) pick {
	g := o.Graphs[0]
	best := none
	for i := range p.look(o) {
		p.near(g, i)
		if best = p.quickest(g, i); best != none || !p.config.Backfill && !p.forced {
			break
		}
	}
	return best
}

// SJFConfig configures [SJF].
type SJFConfig struct {
	// Amount is how much an invocation gets: nominal, smallest, largest or spread.
	Amount string `yaml:"amount" json:"amount" oneof:"nominal|smallest|largest|spread"`
}

// DefaultSJF returns nominal amounts.
func DefaultSJF() SJFConfig { return SJFConfig{Amount: Nominal} }

// Validate reports the first wrong field.
func (c *SJFConfig) Validate() error { return bounds.Check(c) }

// SJF starts, of the invocations that fit any node, the one with the least work, on the node on which it is expected to
// end first. It looks at the work of the invocation, not of its request.
type SJF struct {
	stateless
	config SJFConfig
}

// NewSJF returns a policy for environments such as env.
func NewSJF(c SJFConfig, env envs.Env) (*SJF, error) {
	r, err := newStateless("sjf-nodes", &c, c.Amount, env)
	if err != nil {
		return nil, err
	}
	p := &SJF{r, c}
	p.rule = p.decide
	return p, nil
}

// decide returns the rule's choice.
func (p *SJF) decide(o *envs.KindObservation) pick {
	g := o.Graphs[0]
	best, least := none, 0.0
	for i := range p.look(o) {
		// The mask tells which invocations fit any node with the smallest amount.
		if !o.Mask[i] {
			continue
		}
		work := p.Work(p.Invocation(g, i))
		if best != none && work >= least {
			continue
		}
		p.near(g, i)
		if q := p.quickest(g, i); q != none {
			best, least = q, work
		}
	}
	return best
}

// RandomConfig configures [Random].
type RandomConfig struct {
	// Amount is how much an invocation gets: nominal, smallest, largest or spread.
	Amount string `yaml:"amount" json:"amount" oneof:"nominal|smallest|largest|spread"`
}

// DefaultRandom returns nominal amounts.
func DefaultRandom() RandomConfig { return RandomConfig{Amount: Nominal} }

// Validate reports the first wrong field.
func (c *RandomConfig) Validate() error { return bounds.Check(c) }

// Random starts any invocation on any node that it fits, all pairs with equal probability; it waits only where none
// fits.
type Random struct {
	kept.Policy
	cluster
	config RandomConfig
	stream *rng.Stream
}

// NewRandom returns a policy for environments such as env.
func NewRandom(c RandomConfig, env envs.Env) (*Random, error) {
	v, err := newCluster("random-nodes", &c, c.Amount, env)
	if err != nil {
		return nil, err
	}
	p := &Random{cluster: v, config: c, stream: rng.NewStream(0, "random pair")}
	p.Policy, p.rule = kept.As("random-nodes", p), p.decide
	return p, nil
}

// Reset implements [envs.Policy].
func (p *Random) Reset(seed uint64) error {
	*p.stream = *rng.NewStream(seed, "random pair")
	return nil
}

// decide returns the rule's choice. It draws even where a deterministic action is asked for: it has no other.
func (p *Random) decide(o *envs.KindObservation) pick {
	g := o.Graphs[0]
	best, count := none, 0
	for i := range p.look(o) {
		if !o.Mask[i] {
			continue
		}
		amount := p.wants(p.Invocation(g, i))
		for _, n := range p.open {
			a := p.fits(i, n, amount)
			if a < 0 {
				continue
			}
			// Reservoir sampling: the count-th pair replaces the one chosen so far with probability 1/count.
			if count++; count == 1 || p.stream.IntN(count) == 0 {
				best = pick{i, a, n}
			}
		}
	}
	return best
}

// State implements [state.Stater].
func (p *Random) State(c *state.Codec) { state.Value(c, p.stream) }
