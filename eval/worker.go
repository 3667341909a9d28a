package eval

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
)

// worker plays episodes in an environment and with actors of its own.
type worker struct {
	env    envs.Env
	of     int // the contestant whose environment env is, or shared
	runner *rollout.Runner
	actors map[[2]int]rollout.Actor // by contestant and version
}

// shared is the place of the request's environment, beside the contestants' own.
const shared = -1

// open makes the environment of a contestant, unless the worker's is the same one.
func (w *worker) open(r *Request, contestant int) (err error) {
	newEnv, of := r.NewEnv, shared
	if own := r.Contestants[contestant].NewEnv; own != nil {
		newEnv, of = own, contestant
	}
	if w.env != nil && w.of == of {
		return nil
	}
	if w.env, err = newEnv(); err != nil {
		return err
	}
	w.of, w.actors = of, map[[2]int]rollout.Actor{}
	w.runner = rollout.NewRunner(w.env)
	w.runner.Stochastic = r.Stochastic
	return nil
}

func (w *worker) play(ctx context.Context, r *Request, j job, p *Played, t *trace) error {
	if err := w.open(r, j.contestant); err != nil {
		return err
	}
	con := &r.Contestants[j.contestant]
	actor, err := w.actor(ctx, con, j)
	if err != nil {
		return fmt.Errorf("%s: %w", con.versionName(j.version), err)
	}
	w.runner.OnStep = nil
	if j.version == 0 && j.seed < r.Traced {
		w.runner.OnStep = t.follow(r.Seeds[j.seed], w.env)
	}
	e, err := w.runner.Episode(actor, r.Seeds[j.seed])
	if err != nil {
		return fmt.Errorf("%s: %w", con.versionName(j.version), err) // the runner names seed and step
	}
	p.Episodes[j.contestant][j.version][j.seed] = e
	if j.version == 0 && j.seed == 0 {
		p.specs[j.contestant] = w.env.Spec()
	}
	return nil
}

func (w *worker) actor(ctx context.Context, c *Contestant, j job) (rollout.Actor, error) {
	id := [2]int{j.contestant, j.version}
	a, ok := w.actors[id]
	if ok {
		return a, nil
	}
	a, err := c.Versions[j.version].New(w.env)
	if err != nil {
		return a, err
	}
	n := 0
	if a.Policy != nil {
		a.Policy, n = stoppable{a.Policy, ctx}, n+1
	}
	if a.Tuner != nil {
		a.Tuner, n = stoppableTuner{a.Tuner, ctx}, n+1
	}
	if a.Planner != nil {
		a.Planner, n = stoppablePlanner{a.Planner, ctx}, n+1
	}
	if n != 1 {
		return a, fmt.Errorf("it is %d of policy, tuner and planner, want one", n)
	}
	w.actors[id] = a
	return a, nil
}

// The stoppable actors act until their context ends, so that a cancelled evaluation ends within a step.
type (
	stoppable struct {
		envs.Policy
		ctx context.Context
	}
	stoppableTuner struct {
		envs.Tuner
		ctx context.Context
	}
	stoppablePlanner struct {
		envs.Planner
		ctx context.Context
	}
)

func (s stoppable) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Policy.Act(obs, act, deterministic)
}

func (s stoppableTuner) Propose(obs *envs.Observation, act *envs.Action) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Tuner.Propose(obs, act)
}

func (s stoppablePlanner) Plan(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Planner.Plan(env, obs, act)
}

// trace is the steps and samples recorded in one episode.
type trace struct {
	steps   []StepRow
	samples []SampleSet
}

// follow returns a function that records every step.
func (t *trace) follow(seed uint64, env envs.Env) func(rollout.Step) {
	at := 0.0
	sampler, ok := envs.As[envs.Sampler](env)
	if ok {
		t.samples = make([]SampleSet, len(env.Spec().Samples))
	}
	agents := float64(max(1, env.Spec().Agents()))
	return func(s rollout.Step) {
		at += float64(s.Elapsed) / 1e6
		row := StepRow{Seed: seed, Step: s.Number, Time: at, Info: append([]float64(nil), s.Info...)}
		for _, kind := range s.Rewards {
			for _, r := range kind {
				row.Reward += float64(r)
			}
		}
		row.Reward /= agents
		t.steps = append(t.steps, row)
		for i := range t.samples {
			t.samples[i] = sampler.AppendSamples(i, t.samples[i])
		}
	}
}
