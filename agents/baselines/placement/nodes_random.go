package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// NodesRandomConfig configures [NodesRandom].
type NodesRandomConfig struct {
	// Amount is how much an invocation gets: nominal, smallest, largest or spread.
	Amount string `yaml:"amount" json:"amount"`
}

// DefaultNodesRandom returns nominal amounts.
func DefaultNodesRandom() NodesRandomConfig { return NodesRandomConfig{Amount: Nominal} }

// Validate names the first field that is wrong.
func (c *NodesRandomConfig) Validate() error { return checkAmount(c.Amount) }

// NodesRandom starts any invocation on any node that it fits, each pair as likely; it waits only where none fits.
type NodesRandom struct {
	cluster
	config NodesRandomConfig
	stream *rng.Stream
}

// NewNodesRandom returns a policy for environments such as env.
func NewNodesRandom(c NodesRandomConfig, env envs.Env) (*NodesRandom, error) {
	v, err := newCluster("random-nodes", &c, c.Amount, env)
	if err != nil {
		return nil, err
	}
	return &NodesRandom{v, c, rng.NewStream(0, "random pair")}, nil
}

// Name implements [envs.Policy].
func (*NodesRandom) Name() string { return "random-nodes" }

// Reset implements [envs.Policy].
func (p *NodesRandom) Reset(seed uint64) error {
	*p.stream = *rng.NewStream(seed, "random pair")
	return nil
}

// Act implements [envs.Policy]. It draws even where a deterministic action is asked for: it has no other.
func (p *NodesRandom) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	p.act(obs, act, p.decide)
	return nil
}

// decide returns what the rule takes.
func (p *NodesRandom) decide(o *envs.KindObservation) pick {
	g := o.Graphs[0]
	best, count := none, 0
	for i := range p.look(o) {
		if !o.Mask[i] {
			continue
		}
		p.near(g, i)
		v := p.Invocation(g, i)
		amount := p.wants(v)
		for _, n := range p.open {
			a := p.fits(v, p.Node(g, n), n, amount)
			if a < 0 {
				continue
			}
			// The count-th takes the place of those before with probability 1/count: each is as likely in the end.
			if count++; count == 1 || p.stream.IntN(count) == 0 {
				best = pick{i, a, n}
			}
		}
	}
	return best
}

// CopyFrom implements [envs.Policy].
func (p *NodesRandom) CopyFrom(src envs.Policy) error {
	s, ok := src.(*NodesRandom)
	if !ok {
		return fmt.Errorf("random-nodes: cannot be copied from %s", src.Name())
	}
	*p.stream = *s.stream
	return nil
}

// AppendBinary implements [envs.Policy].
func (p *NodesRandom) AppendBinary(b []byte) ([]byte, error) { return p.stream.AppendBinary(b) }

// UnmarshalBinary implements [envs.Policy].
func (p *NodesRandom) UnmarshalBinary(b []byte) error {
	if err := p.stream.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("random-nodes: %w", err)
	}
	return nil
}
