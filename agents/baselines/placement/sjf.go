package placement

import "github.com/stoker-rl/stoker/bounds"

import "github.com/stoker-rl/stoker/envs"

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
	return &SJF{r, c}, nil
}

// Act implements [envs.Policy].
func (p *SJF) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	p.act(obs, act, p.decide)
	return nil
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
