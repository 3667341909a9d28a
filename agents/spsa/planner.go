package spsa

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// trials evaluates actions on counterfactual copies: one spare environment that is made equal to the real one before
// each trial. Draws are keyed by their purpose, so every copy has the workload that the real environment will have.
type trials struct {
	env    envs.Env
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
	metric int // index of Spec.Info, −1 for the reward
	sign   float64
}

// newTrials returns trials on spare, an environment that nothing else uses; spare is nil where nothing is tried.
func newTrials(c *Config, s *envs.Spec, spare envs.Env) (*trials, error) {
	t := &trials{env: spare, obs: envs.NewObservation(s), act: envs.NewAction(s), out: envs.NewOutcome(s), metric: -1,
		sign: 1}
	if c.Objective == "" {
		return t, nil
	}
	var err error
	if t.metric, err = s.InfoIndex(c.Objective); err != nil {
		return nil, fmt.Errorf("objective: %w", err)
	}
	switch s.Info[t.metric].Better {
	case envs.Neither:
		return nil, fmt.Errorf("objective: neither direction of %q is better", c.Objective)
	case envs.Lower:
		t.sign = -1
	}
	return t, nil
}

// profit is Φ of the window that world is about to run, with the action t.act. It does not change world.
func (t *trials) profit(world envs.Env) (float64, error) {
	if err := t.env.CopyFrom(world); err != nil {
		return 0, err
	}
	if err := t.env.Step(t.act, t.obs, t.out); err != nil {
		return 0, err
	}
	x := t.realised(t.out.Rewards[0], t.out.Info)
	return t.sign * x, finite(x, t.act.Kinds[0])
}

// finite returns an error for an objective that is not finite.
func finite(x float64, act []float32) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("the objective is %g after action %v, want a finite number", x, act)
	}
	return nil
}

// realised is the objective of a step, not negated where lower is better.
func (t *trials) realised(rewards []float32, info []float64) float64 {
	if t.metric >= 0 {
		return info[t.metric]
	}
	var sum float64
	for _, r := range rewards {
		sum += float64(r)
	}
	return sum / float64(len(rewards))
}

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

// Propose writes the next window's action where the environment itself runs the perturbed actions (realised:
// perturbed): s⁺ and s⁻ of each pair, one after the other.
func (p *Pricer) Propose(act []float32) {
	if p.phase%2 == 0 {
		p.draw(p.searched[int(p.phase/2)%len(p.searched)])
		p.perturbed(1, p.above, act)
		return
	}
	p.perturbed(1, p.above, act) // the window before's action, for the distance between the two
	p.perturbed(-1, p.below, act)
}

// Observe takes the profit of the window that ran the proposed action, and moves the action after the last pair.
func (p *Pricer) Observe(profit float64) {
	if p.phase%2 == 0 {
		p.plus = profit
	} else {
		p.add(p.plus - profit)
	}
	if p.phase++; p.phase == p.cycle() {
		p.phase, p.worlds = 0, 1
		p.Move()
	}
}

// cycle is the number of windows per move.
func (p *Pricer) cycle() int64 { return 2 * int64(p.c.Pairs) * int64(len(p.searched)) }
