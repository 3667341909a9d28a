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

// Runner runs episodes in one environment, without allocating for a step: [Runner.Episode] as a whole, or step by step,
// where many are under way at once. Then [Runner.Begin] starts one; until [Runner.Over], the caller writes an action for
// [Runner.Seen] to [Runner.Action] and calls [Runner.Step]; [Runner.Result] sums it up.
type Runner struct {
	env       envs.Env
	guard     *envs.Guard
	seen, now *envs.Observation
	act       *envs.Action
	out       *envs.Outcome
	stats     *envs.EpisodeStatistics
	seed      uint64
	steps     int
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
	if err := a.check(); err != nil {
		return envs.Episode{Seed: seed}, err
	}
	if err := r.Begin(seed); err != nil {
		return envs.Episode{Seed: seed}, fmt.Errorf("seed %d: %w", seed, err)
	}
	if err := a.reset(ActorSeed(seed)); err != nil {
		return envs.Episode{Seed: seed}, fmt.Errorf("%s: seed %d: %w", a.Name(), seed, err)
	}
	for !r.Over() {
		if err := r.let(a); err != nil {
			return envs.Episode{Seed: seed}, fmt.Errorf("%s: seed %d, step %d: %w", a.Name(), seed, r.steps, err)
		}
	}
	return r.Result(), nil
}

// ActorSeed is the seed of an actor's own draws in the episode of a seed.
func ActorSeed(seed uint64) uint64 { return rng.New(seed, "actor").Uint64() }

// Begin starts the episode of a seed.
func (r *Runner) Begin(seed uint64) error {
	r.seed, r.steps, r.out.Terminated, r.out.Truncated = seed, 0, false, false
	if err := r.env.Reset(seed, r.Options, r.now); err != nil {
		return err
	}
	r.stats.Reset()
	return r.guard.Observation(r.now)
}

// Over reports whether the episode has ended.
func (r *Runner) Over() bool { return r.out.Terminated || r.out.Truncated }

// Steps is the number of steps of the episode so far.
func (r *Runner) Steps() int { return r.steps }

// Seen is what the actor acts on next, and Action where its action is written. Both belong to the runner.
func (r *Runner) Seen() *envs.Observation { return r.now }

// Action is where the next action is written.
func (r *Runner) Action() *envs.Action { return r.act }

// Step applies the action. After an error the episode cannot go on.
func (r *Runner) Step() error { return r.step(Actor{}) }

// Result sums up the episode.
func (r *Runner) Result() envs.Episode {
	ep := envs.Episode{Seed: r.seed, Terminated: r.out.Terminated, Info: make([]float64, len(r.env.Spec().Info))}
	r.stats.Fill(&ep)
	return ep
}

// let lets an actor act.
func (r *Runner) let(a Actor) error {
	var err error
	switch {
	case a.Policy != nil:
		err = a.Policy.Act(r.now, r.act, !r.Stochastic)
	case a.Tuner != nil:
		err = a.Tuner.Propose(r.now, r.act)
	default:
		err = a.Planner.Plan(r.env, r.now, r.act)
	}
	if err != nil {
		return err
	}
	return r.step(a)
}

// step applies the action, tells a tuner what came of it, and counts the step.
func (r *Runner) step(a Actor) error {
	r.seen, r.now = r.now, r.seen
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
		if err := a.Tuner.Observe(r.act, r.out); err != nil {
			return err
		}
	}
	r.stats.Add(r.out)
	if r.OnStep != nil {
		r.OnStep(Step{r.steps, r.seen, r.act, r.now, r.out, r.env})
	}
	r.steps++
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
