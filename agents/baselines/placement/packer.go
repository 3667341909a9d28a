package placement

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
)

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
	return &Packer{r, c}, nil
}

// Act implements [envs.Policy].
func (p *Packer) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	p.act(obs, act, p.decide)
	return nil
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

// alignment is Σ_r free_r·demand_r, as shares of the largest node or of this node's capacity. The memory of idle
// instances counts as free.
func (c *cluster) alignment(v, node []float32, amount int, own bool) float64 {
	s := 0.0
	for r := range placement.NumResources {
		free := float64(c.Free(node, r))
		if r == placement.Memory {
			free += float64(c.WarmMemory(node))
		}
		x := float64(free * float64(c.Demand(v, r, amount)))
		if own {
			of := float64(c.Capacity(node, r))
			if of == 0 {
				continue
			}
			x /= of * of
		}
		s += x
	}
	return s
}
