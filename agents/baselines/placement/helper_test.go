package placement

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// rule builds a policy for an environment.
type rule struct {
	name  string
	build func(envs.Env) (envs.Policy, error)
}

// rules are all rules of this package with their defaults.
var rules = []rule{
	{"fcfs-nodes", func(e envs.Env) (envs.Policy, error) { return NewFCFS(DefaultFCFS(), e) }},
	{"sjf-nodes", func(e envs.Env) (envs.Policy, error) { return NewSJF(DefaultSJF(), e) }},
	{"packer-nodes", func(e envs.Env) (envs.Policy, error) { return NewPacker(DefaultPacker(), e) }},
	{"tetris", func(e envs.Env) (envs.Policy, error) { return NewTetris(DefaultTetris(), e) }},
	{"random-nodes", func(e envs.Env) (envs.Policy, error) { return NewRandom(DefaultRandom(), e) }},
}

// world is an environment with a policy.
type world struct {
	t      testing.TB
	env    *placement.Env
	policy envs.Policy
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
}

func newWorld(t testing.TB, c placement.Config, r rule) *world {
	t.Helper()
	e := must.Get(placement.New(c, workload.Default()))(t)
	p := must.Get(r.build(e))(t)
	s := e.Spec()
	return &world{t, e, p, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
}

func (w *world) reset(seed uint64, o envs.Options) {
	if err := w.env.Reset(seed, o, w.obs); err != nil {
		w.t.Fatal(err)
	}
	if err := w.policy.Reset(seed); err != nil {
		w.t.Fatal(err)
	}
	w.out.Terminated, w.out.Truncated = false, false
}

// step has no t.Helper: benchmarks time it, and t.Helper would take longer than the rest.
func (w *world) step() {
	if err := w.policy.Act(w.obs, w.act, true); err != nil {
		w.t.Fatal(err)
	}
	if err := w.env.Step(w.act, w.obs, w.out); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) ended() bool { return w.out.Terminated || w.out.Truncated }

// episode plays to the end and returns the environment's report.
func (w *world) episode(seed uint64, o envs.Options) envs.Episode {
	s := envs.NewEpisodeStatistics(w.env.Spec())
	for w.reset(seed, o); !w.ended(); {
		w.step()
		s.Add(w.out)
	}
	out := envs.Episode{Info: make([]float64, len(w.env.Spec().Info))}
	s.Fill(&out)
	return out
}
