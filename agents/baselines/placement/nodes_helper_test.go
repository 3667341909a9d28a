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

// cloud is unlike nodes and a policy among them.
type cloud struct{ play[*placement.Serverless] }

func newCloud(t testing.TB, c placement.ServerlessConfig, r rule) *cloud {
	t.Helper()
	e, err := placement.NewServerless(c, workload.Default())
	if err != nil {
		t.Fatal(err)
	}
	return &cloud{newPlay(t, e, r)}
}

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
