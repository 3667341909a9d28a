package placement

import "github.com/stoker-rl/stoker/bounds"

import "github.com/stoker-rl/stoker/envs"

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
	return &FCFS{r, c}, nil
}

// Act implements [envs.Policy].
func (p *FCFS) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	p.act(obs, act, p.decide)
	return nil
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
