package placement

import (
	"slices"

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

// PackerConfig configures [Packer].
type PackerConfig struct {
	// Amount is how much an invocation gets: nominal, smallest, largest or spread.
	Amount string `yaml:"amount" json:"amount" oneof:"nominal|smallest|largest|spread"`
	// Warm considers only nodes where an invocation's function is warm, if it fits any of those.
	Warm bool `yaml:"warm" json:"warm"`
}

// DefaultPacker returns nominal amounts, warm nodes first.
func DefaultPacker() PackerConfig {
	return PackerConfig{Amount: Nominal, Warm: true}
}

// Validate reports the first wrong field.
func (c *PackerConfig) Validate() error { return bounds.Check(c) }

// Packer starts the pair of invocation and node with the largest alignment Σ_r free_r·demand_r, both as shares of the
// largest node.
type Packer struct {
	stateless
	config PackerConfig
}

// NewPacker returns a policy for environments such as env.
func NewPacker(c PackerConfig, env envs.Env) (*Packer, error) {
	r, err := newStateless("packer-nodes", &c, c.Amount, env)
	if err != nil {
		return nil, err
	}
	p := &Packer{r, c}
	p.rule = p.decide
	return p, nil
}

// decide returns the rule's choice.
func (p *Packer) decide(o *envs.KindObservation) pick {
	g := o.Graphs[0]
	best, most := none, 0.0
	for i := range p.look(o) {
		if !o.Mask[i] {
			continue
		}
		p.near(g, i)
		v := p.Invocation(g, i)
		amount, found := p.wants(v), false
		for _, warm := range [...]bool{true, false} {
			if warm && !p.config.Warm || !warm && found {
				continue
			}
			for _, n := range p.open {
				if warm && !p.warm[n] {
					continue
				}
				a := p.fits(i, n, amount)
				if a < 0 {
					continue
				}
				found = true
				if s := p.alignment(v, p.Node(g, n), a, false); best == none || s > most {
					best, most = pick{i, a, n}, s
				}
			}
		}
	}
	return best
}

// TetrisConfig configures [Tetris]. The defaults are its paper's, as far as they are known.
type TetrisConfig struct {
	// Amount is how much an invocation gets: nominal, smallest, largest or spread.
	Amount string `yaml:"amount" json:"amount" oneof:"nominal|smallest|largest|spread"`
	// Warm considers only nodes where an invocation's function is warm, if it fits any of those.
	Warm bool `yaml:"warm" json:"warm"`
	// Remote is the share of the alignment that is subtracted on a node without all of an invocation's input.
	Remote float64 `yaml:"remote" json:"remote" range:"[0,1]"`
	// Fairness is the share of the invocations that are left out: those whose requests hold the most resources.
	Fairness float64 `yaml:"fairness" json:"fairness" range:"[0,0.999]"`
	// Barrier is the share of a stage that must be done before its last invocations come first.
	Barrier float64 `yaml:"barrier" json:"barrier" range:"[0,1]"`
}

// DefaultTetris returns a remote penalty of 10 %, fairness 0.25, barrier 0.9 and nominal amounts.
func DefaultTetris() TetrisConfig {
	return TetrisConfig{Amount: Nominal, Warm: true, Remote: 0.1, Fairness: 0.25, Barrier: 0.9}
}

// Validate reports the first wrong field.
func (c *TetrisConfig) Validate() error { return bounds.Check(c) }

// Tetris is the rule of Grandl et al. for several machines (SIGCOMM 2014): of all pairs of invocation and node that fit
// it takes the one with the largest
//
//	alignment − ε · work left
//
// where the alignment is Σ_r free_r·demand_r in shares of the node's capacity, less Remote of it where input must be
// fetched; the work left is that of the whole request; and ε is the mean alignment over the mean work left, so that
// both terms weigh the same. Invocations of requests that hold most are left out (fairness), and the last invocations
// of a stage come first (barrier).
type Tetris struct {
	stateless
	config TetrisConfig
	held   []float32
	pairs  []scored
}

// scored is a pair of invocation and node with its terms.
type scored struct {
	pick
	alignment, left float64
	last            bool // of its stage
}

// NewTetris returns a policy for environments such as env.
func NewTetris(c TetrisConfig, env envs.Env) (*Tetris, error) {
	r, err := newStateless("tetris", &c, c.Amount, env)
	if err != nil {
		return nil, err
	}
	p := &Tetris{r, c, make([]float32, 0, r.Window), make([]scored, 0, r.Window*r.Nodes)}
	p.rule = p.decide
	return p, nil
}

// decide returns the rule's choice.
func (p *Tetris) decide(o *envs.KindObservation) pick {
	g := o.Graphs[0]
	n := p.look(o)
	most := p.fair(g, n)
	p.pairs = p.pairs[:0]
	for i := range n {
		v := p.Invocation(g, i)
		if o.Mask[i] && (p.Held(v) <= most || p.forced) {
			p.near(g, i)
			p.score(g, i, v)
		}
	}
	return p.best()
}

// fair is the quantile 1 − Fairness of the resources that the invocations' requests hold.
func (p *Tetris) fair(g *envs.GraphValue, n int) float32 {
	if n == 0 {
		return 0
	}
	p.held = p.held[:0]
	for i := range n {
		p.held = append(p.held, p.Held(p.Invocation(g, i)))
	}
	slices.Sort(p.held)
	left := int(float64(p.config.Fairness * float64(n)))
	return p.held[n-1-left]
}

// score appends the pairs of an invocation and the nodes that it fits.
func (p *Tetris) score(g *envs.GraphValue, i int, v []float32) {
	amount, left, input := p.wants(v), p.Remaining(v), p.Input(v) > 0
	stage := float64(p.Stage(v))
	last := stage >= p.config.Barrier && stage > 0
	for _, warm := range [...]bool{true, false} {
		if warm && !p.config.Warm {
			continue
		}
		found := false
		for _, n := range p.open {
			if warm && !p.warm[n] {
				continue
			}
			a := p.fits(i, n, amount)
			if a < 0 {
				continue
			}
			found = true
			s := p.alignment(v, p.Node(g, n), a, true)
			if input && p.local[n] < 1 {
				s -= float64(p.config.Remote * s)
			}
			p.pairs = append(p.pairs, scored{pick{i, a, n}, s, left, last})
		}
		if found {
			return
		}
	}
}

// best is the pair with the largest score, the first of several.
func (p *Tetris) best() pick {
	alignment, left, last := 0.0, 0.0, false
	for i := range p.pairs {
		alignment += p.pairs[i].alignment
		left += p.pairs[i].left
		last = last || p.pairs[i].last
	}
	eps := 0.0
	if left > 0 {
		eps = alignment / left
	}
	best, most := none, 0.0
	for i := range p.pairs {
		q := &p.pairs[i]
		if last && !q.last {
			continue
		}
		if s := q.alignment - float64(eps*q.left); best == none || s > most {
			best, most = q.pick, s
		}
	}
	return best
}
