package deeprm

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/internal/must"
)

// rule builds a policy for an environment.
type rule struct {
	name  string
	build func(envs.Env) (envs.Policy, error)
}

// rules are all rules of this package with their defaults.
var rules = []rule{
	{"fcfs", func(e envs.Env) (envs.Policy, error) { return NewFCFS(DefaultFCFS(), e) }},
	{"sjf", func(e envs.Env) (envs.Policy, error) { return NewSJF(DefaultSJF(), e) }},
	{"packer", func(e envs.Env) (envs.Policy, error) { return NewPacker(DefaultPacker(), e) }},
	{"tetris-star", func(e envs.Env) (envs.Policy, error) { return NewTetrisStar(DefaultTetrisStar(), e) }},
	{"random", func(e envs.Env) (envs.Policy, error) { return NewRandom(e) }},
}

// variants are rules with other settings.
var variants = []rule{
	{"fcfs", func(e envs.Env) (envs.Policy, error) { return NewFCFS(FCFSConfig{Backfill: true}, e) }},
	{"sjf", func(e envs.Env) (envs.Policy, error) { return NewSJF(SJFConfig{Noise: 0.5}, e) }},
	{"tetris-star", func(e envs.Env) (envs.Policy, error) { return NewTetrisStar(TetrisStarConfig{K: 0}, e) }},
	{"tetris-star", func(e envs.Env) (envs.Policy, error) { return NewTetrisStar(TetrisStarConfig{K: 1}, e) }},
}

// world is an environment with a policy.
type world struct {
	t      testing.TB
	env    *deeprm.Env
	policy envs.Policy
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
	layout deeprm.Layout
}

func newWorld(t testing.TB, c deeprm.Config, r rule) *world {
	t.Helper()
	e := must.Get(deeprm.New(c))(t)
	p := must.Get(r.build(e))(t)
	s := e.Spec()
	return &world{t, e, p, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s), deeprm.NewLayout(&c)}
}

func (w *world) reset(seed uint64) {
	if err := w.env.Reset(seed, nil, w.obs); err != nil {
		w.t.Fatal(err)
	}
	if err := w.policy.Reset(seed); err != nil {
		w.t.Fatal(err)
	}
	w.out.Terminated, w.out.Truncated = false, false
}

// step returns the chosen place. It has no t.Helper: benchmarks time it, and t.Helper would take longer than the rest.
func (w *world) step() int {
	if err := w.policy.Act(w.obs, w.act, true); err != nil {
		w.t.Fatal(err)
	}
	if err := w.env.Step(w.act, w.obs, w.out); err != nil {
		w.t.Fatal(err)
	}
	return int(w.act.Kinds[0][0])
}

func (w *world) ended() bool { return w.out.Terminated || w.out.Truncated }

// episode plays to the end and returns the mean slowdown and the number of jobs.
func (w *world) episode(seed uint64) (slowdown, jobs float64) {
	for w.reset(seed); !w.ended(); {
		w.step()
	}
	return w.out.Info[0], w.out.Info[1]
}

// compact is the default environment without images.
func compact() deeprm.Config {
	c := deeprm.Default()
	c.Observation = deeprm.Compact
	return c
}

// waiting is an environment in which a first job uses the whole cluster for as many time steps as there are other jobs;
// then all others wait, in the places from 0 on.
func waiting(others ...deeprm.Job) deeprm.Config {
	c := compact()
	jobs := []deeprm.Job{{At: 0, Length: len(others), Demand: []int{10, 10}}}
	for i, j := range others {
		j.At = i + 1
		jobs = append(jobs, j)
	}
	c.Jobs = [][]deeprm.Job{jobs}
	return c
}
