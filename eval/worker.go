package eval

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
)

// worker plays episodes in an environment and with actors of its own.
type worker struct {
	ctx    context.Context
	r      Request
	env    envs.Env
	runner *rollout.Runner
	actors map[[2]int]rollout.Actor
}

func (w *worker) open() (err error) {
	if w.runner != nil {
		return nil
	}
	if w.env == nil {
		if w.env, err = w.r.NewEnv(); err != nil {
			return err
		}
	}
	w.runner = rollout.NewRunner(w.env)
	w.runner.Stochastic = w.r.Stochastic
	return nil
}

func (w *worker) play(j job, p *Played, t *trace) error {
	if err := w.open(); err != nil {
		return err
	}
	con := &w.r.Contestants[j.contestant]
	actor, err := w.actor(j)
	if err != nil {
		return fmt.Errorf("%s: %w", con.versionName(j.version), err)
	}
	w.runner.OnStep = nil
	if j.version == 0 && j.seed < w.r.Traced {
		w.runner.OnStep = t.follow(w.r.Seeds[j.seed], w.env)
	}
	e, err := w.runner.Episode(actor, w.r.Seeds[j.seed])
	if err != nil {
		return fmt.Errorf("%s: %w", con.versionName(j.version), err) // the runner names seed and step
	}
	p.Episodes[j.contestant][j.version][j.seed] = e
	return nil
}

func (w *worker) actor(j job) (rollout.Actor, error) {
	id := [2]int{j.contestant, j.version}
	a, ok := w.actors[id]
	if ok {
		return a, nil
	}
	a, err := w.r.Contestants[j.contestant].Versions[j.version].New(w.env)
	if err != nil {
		return a, err
	}
	n := 0
	if a.Policy != nil {
		a.Policy, n = stoppable{a.Policy, w.ctx}, n+1
	}
	if a.Tuner != nil {
		a.Tuner, n = stoppableTuner{a.Tuner, w.ctx}, n+1
	}
	if a.Planner != nil {
		a.Planner, n = stoppablePlanner{a.Planner, w.ctx}, n+1
	}
	if n != 1 {
		return a, fmt.Errorf("it is %d of policy, tuner and planner, want one", n)
	}
	w.actors[id] = a
	return a, nil
}

// The stoppable actors act until their context ends, so that nobody waits for the end of a long episode.
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

// trace is what one episode leaves for figures.
type trace struct {
	steps   []StepRow
	samples []SampleSet
}

// follow returns a function that keeps every step.
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
