// Package rollout runs policies, tuners and planners through episodes. Evaluation during training, comparison afterwards
// and examples use it, so that all count the same steps in the same way; every step in which an actor acts counts.
//
// Not here: several environments at once and learning in them (package train), comparing results (package eval).
package rollout

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// Actor is a policy, a tuner or a planner: exactly one is set.
type Actor struct {
	Policy  envs.Policy
	Tuner   envs.Tuner
	Planner envs.Planner
}

// Name is the actor's name.
func (a Actor) Name() string {
	switch {
	case a.Policy != nil:
		return a.Policy.Name()
	case a.Tuner != nil:
		return a.Tuner.Name()
	case a.Planner != nil:
		return a.Planner.Name()
	}
	return ""
}

// Step is what a [Runner] tells about each step. Everything belongs to the runner and is overwritten by the next step.
type Step struct {
	Number int
	Seen   *envs.Observation // what the actor acted on
	Action *envs.Action
	After  *envs.Observation
	*envs.Outcome
	Env envs.Env
}

// Runner runs episodes in one environment, without allocating for a step.
type Runner struct {
	env       envs.Env
	guard     *envs.Guard
	seen, now *envs.Observation
	act       *envs.Action
	out       *envs.Outcome
	stats     *envs.EpisodeStatistics
	// Stochastic lets policies draw their actions.
	Stochastic bool
	// Options are given to every Reset.
	Options envs.Options
	// OnStep, where set, is called after every step.
	OnStep func(Step)
}

// NewRunner returns a runner over env.
func NewRunner(env envs.Env) *Runner {
	s := env.Spec()
	return &Runner{
		env: env, guard: envs.NewGuard(s), seen: envs.NewObservation(s), now: envs.NewObservation(s),
		act: envs.NewAction(s), out: envs.NewOutcome(s), stats: envs.NewEpisodeStatistics(s),
	}
}

// Episode resets environment and actor with seed and runs to the end. The actor's own draws come from another stream
// than the world's.
func (r *Runner) Episode(a Actor, seed uint64) (envs.Episode, error) {
	ep := envs.Episode{Seed: seed, Info: make([]float64, len(r.env.Spec().Info))}
	if err := a.check(); err != nil {
		return ep, err
	}
	if err := r.env.Reset(seed, r.Options, r.now); err != nil {
		return ep, fmt.Errorf("seed %d: %w", seed, err)
	}
	if err := r.guard.Observation(r.now); err != nil {
		return ep, fmt.Errorf("seed %d: %w", seed, err)
	}
	if err := a.reset(rng.New(seed, "actor").Uint64()); err != nil {
		return ep, fmt.Errorf("%s: seed %d: %w", a.Name(), seed, err)
	}
	r.stats.Reset()
	for n := 0; ; n++ {
		r.seen, r.now = r.now, r.seen
		if err := r.step(a); err != nil {
			return ep, fmt.Errorf("%s: seed %d, step %d: %w", a.Name(), seed, n, err)
		}
		r.stats.Add(r.out)
		if r.OnStep != nil {
			r.OnStep(Step{n, r.seen, r.act, r.now, r.out, r.env})
		}
		if r.out.Terminated || r.out.Truncated {
			ep.Terminated = r.out.Terminated
			r.stats.Fill(&ep)
			return ep, nil
		}
	}
}

func (r *Runner) step(a Actor) error {
	var err error
	switch {
	case a.Policy != nil:
		err = a.Policy.Act(r.seen, r.act, !r.Stochastic)
	case a.Tuner != nil:
		err = a.Tuner.Propose(r.seen, r.act)
	default:
		err = a.Planner.Plan(r.env, r.seen, r.act)
	}
	if err != nil {
		return err
	}
	if err := r.env.Step(r.act, r.now, r.out); err != nil {
		return err
	}
	if err := r.guard.Outcome(r.out); err != nil {
		return err
	}
	if err := r.guard.Observation(r.now); err != nil {
		return err
	}
	if a.Tuner != nil {
		return a.Tuner.Observe(r.act, r.out)
	}
	return nil
}

func (a Actor) reset(seed uint64) error {
	switch {
	case a.Policy != nil:
		return a.Policy.Reset(seed)
	case a.Tuner != nil:
		return a.Tuner.Reset(seed)
	}
	return a.Planner.Reset(seed)
}

func (a Actor) check() error {
	n := 0
	for _, set := range []bool{a.Policy != nil, a.Tuner != nil, a.Planner != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("rollout: the actor is %d of policy, tuner and planner, want one", n)
	}
	return nil
}
