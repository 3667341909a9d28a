package placement

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
)

// rule builds a policy for an environment.
type rule struct {
	name  string
	build func(envs.Env) (envs.Policy, error)
}

// rules are all rules here with their defaults.
var rules = []rule{
	{"fcfs", func(e envs.Env) (envs.Policy, error) { return NewFCFS(DefaultFCFS(), e) }},
	{"sjf", func(e envs.Env) (envs.Policy, error) { return NewSJF(DefaultSJF(), e) }},
	{"packer", func(e envs.Env) (envs.Policy, error) { return NewPacker(DefaultPacker(), e) }},
	{"tetris-star", func(e envs.Env) (envs.Policy, error) { return NewTetrisStar(DefaultTetrisStar(), e) }},
	{"random", func(e envs.Env) (envs.Policy, error) { return NewRandom(DefaultRandom(), e) }},
}

// variants are rules with other settings.
var variants = []rule{
	{"fcfs", func(e envs.Env) (envs.Policy, error) { return NewFCFS(FCFSConfig{Backfill: true}, e) }},
	{"sjf", func(e envs.Env) (envs.Policy, error) { return NewSJF(SJFConfig{Noise: 0.5}, e) }},
	{"tetris-star", func(e envs.Env) (envs.Policy, error) { return NewTetrisStar(TetrisStarConfig{K: 0}, e) }},
	{"tetris-star", func(e envs.Env) (envs.Policy, error) { return NewTetrisStar(TetrisStarConfig{K: 1}, e) }},
}

// play is an environment and a policy in it.
type play[E envs.Env] struct {
	t      testing.TB
	env    E
	policy envs.Policy
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
}

func newPlay[E envs.Env](t testing.TB, e E, r rule) play[E] {
	t.Helper()
	p, err := r.build(e)
	if err != nil {
		t.Fatal(err)
	}
	s := e.Spec()
	return play[E]{t, e, p, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
}

func (w *play[E]) reset(seed uint64, o envs.Options) {
	if err := w.env.Reset(seed, o, w.obs); err != nil {
		w.t.Fatal(err)
	}
	if err := w.policy.Reset(seed); err != nil {
		w.t.Fatal(err)
	}
	w.out.Terminated, w.out.Truncated = false, false
}

// step is timed: Helper would take longer than the rest.
func (w *play[E]) step() {
	if err := w.policy.Act(w.obs, w.act, true); err != nil {
		w.t.Fatal(err)
	}
	if err := w.env.Step(w.act, w.obs, w.out); err != nil {
		w.t.Fatal(err)
	}
}

func (w *play[E]) ended() bool { return w.out.Terminated || w.out.Truncated }

// world is a cluster of one machine and a policy in it.
type world struct {
	play[*placement.DeepRM]
	layout placement.Layout
}

func newWorld(t testing.TB, c placement.DeepRMConfig, r rule) *world {
	t.Helper()
	e, err := placement.NewDeepRM(c)
	if err != nil {
		t.Fatal(err)
	}
	return &world{newPlay(t, e, r), placement.NewLayout(&c)}
}

func (w *world) reset(seed uint64) { w.play.reset(seed, nil) }

// step returns the place that was chosen.
func (w *world) step() int {
	w.play.step()
	return int(w.act.Kinds[0][0])
}

// episode plays to the end and returns the mean slowdown and the number of jobs.
func (w *world) episode(seed uint64) (slowdown, jobs float64) {
	for w.reset(seed); !w.ended(); {
		w.step()
	}
	return w.out.Info[0], w.out.Info[1]
}

// compact is the default environment without images.
func compact() placement.DeepRMConfig {
	c := placement.DefaultDeepRM()
	c.Observation = placement.Compact
	return c
}

// waiting is an environment in which a first job holds the whole cluster for as many time steps as there are others; then all others
// wait, in the places from 0 on.
func waiting(others ...placement.Job) placement.DeepRMConfig {
	c := compact()
	jobs := []placement.Job{{At: 0, Length: len(others), Demand: []int{10, 10}}}
	for i, j := range others {
		j.At = i + 1
		jobs = append(jobs, j)
	}
	c.Jobs = [][]placement.Job{jobs}
	return c
}
