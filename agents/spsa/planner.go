package spsa

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// Planner is the pricer within one episode, as in the paper's experiment: it starts at the configured action and moves
// after every window. Only the windows that the environment itself runs count as results.
type Planner struct{ pricer *Pricer }

var _ envs.Planner = (*Planner)(nil)

// NewPlanner returns a planner for environments such as spare, on which it tries actions: spare must not be the
// environment that is played.
func NewPlanner(c Config, spare envs.Env) (*Planner, error) {
	if c.Realised == Perturbed {
		return nil, fmt.Errorf("spsa: realised is %q, which a planner cannot do, want %q", c.Realised, Unperturbed)
	}
	p, err := NewPricer(c, spare, 0)
	if err != nil {
		return nil, err
	}
	return &Planner{p}, nil
}

// Name implements [envs.Planner].
func (*Planner) Name() string { return label }

// Reset implements [envs.Planner].
func (p *Planner) Reset(seed uint64) error {
	p.pricer.Reset(seed)
	return nil
}

// Pricer returns the planner's pricer, to read.
func (p *Planner) Pricer() *Pricer { return p.pricer }

// Plan implements [envs.Planner].
func (p *Planner) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	p.pricer.Action(act.Kinds[0])
	if err := p.pricer.Estimate(env); err != nil {
		return err
	}
	p.pricer.Move() // the next action is for the next window (line 7)
	return nil
}
