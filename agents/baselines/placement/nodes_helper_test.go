package placement

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
)

// nodesRules are all rules of stoker/Placement-v1 with their defaults.
var nodesRules = []rule{
	{"fcfs-nodes", func(e envs.Env) (envs.Policy, error) { return NewNodesFCFS(DefaultNodesFCFS(), e) }},
	{"sjf-nodes", func(e envs.Env) (envs.Policy, error) { return NewNodesSJF(DefaultNodesSJF(), e) }},
	{"packer-nodes", func(e envs.Env) (envs.Policy, error) { return NewNodesPacker(DefaultNodesPacker(), e) }},
	{"tetris", func(e envs.Env) (envs.Policy, error) { return NewTetris(DefaultTetris(), e) }},
	{"random-nodes", func(e envs.Env) (envs.Policy, error) { return NewNodesRandom(DefaultNodesRandom(), e) }},
}

// cloud is an environment of nodes and a policy in it.
type cloud struct {
	t      testing.TB
	env    *placement.Serverless
	policy envs.Policy
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
}

func newCloud(t testing.TB, c placement.ServerlessConfig, r rule) *cloud {
	t.Helper()
	e, err := placement.NewServerless(c, workload.Default())
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.build(e)
	if err != nil {
		t.Fatal(err)
	}
	s := e.Spec()
	return &cloud{t, e, p, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
}

func (w *cloud) reset(seed uint64, o envs.Options) {
	if err := w.env.Reset(seed, o, w.obs); err != nil {
		w.t.Fatal(err)
	}
	if err := w.policy.Reset(seed); err != nil {
		w.t.Fatal(err)
	}
	w.out.Terminated, w.out.Truncated = false, false
}

// step is timed: Helper would take longer than the rest.
func (w *cloud) step() {
	if err := w.policy.Act(w.obs, w.act, true); err != nil {
		w.t.Fatal(err)
	}
	if err := w.env.Step(w.act, w.obs, w.out); err != nil {
		w.t.Fatal(err)
	}
}

func (w *cloud) ended() bool { return w.out.Terminated || w.out.Truncated }

// episode plays to the end and returns what it reports.
func (w *cloud) episode(seed uint64, o envs.Options) envs.Episode {
	s := envs.NewEpisodeStatistics(w.env.Spec())
	for w.reset(seed, o); !w.ended(); {
		w.step()
		s.Add(w.out)
	}
	out := envs.Episode{Info: make([]float64, len(w.env.Spec().Info))}
	s.Fill(&out)
	return out
}
