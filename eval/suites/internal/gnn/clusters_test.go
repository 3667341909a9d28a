package gnn

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
)

// cluster is the zoo's cluster of unlike nodes so many times over, at a load above what it can do, as the zoo's policy sees it.
func cluster(t testing.TB, times int) (*eval.Trained, placement.Config) {
	t.Helper()
	shipped := must.Get(eval.Shipped(gnnName))(t)
	c := *shipped.Experiment.Env.Config.(*placement.Config)
	c.Load, c.LoadTo, c.Nodes = 1.3, 0, append([]placement.NodeClass(nil), c.Nodes...)
	for i := range c.Nodes {
		c.Nodes[i].Count *= times
	}
	return shipped, c
}

// begin starts an episode and does some decisions of SJF.
func begin(t testing.TB, c *placement.Config, decisions int) (envs.Env, *envs.Observation, *envs.Action) {
	t.Helper()
	env := must.Get(catalog.Default().NewEnv(placement.ID, c, newWorld().load))(t)
	obs, act, out := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec()), envs.NewOutcome(env.Spec())
	must.Do(t, env.Reset(1, nil, obs))
	sjf := must.Get(must.Get(eval.Baseline(sjfName, "sjf-nodes", nil))(t).Versions[0].New(env))(t)
	for range decisions {
		must.Do(t, sjf.Policy.Act(obs, act, true))
		must.Do(t, env.Step(act, obs, out))
	}
	return env, obs, act
}

// A policy over graphs acts on a cluster of another size than it was trained on: it chooses among all of its nodes.
func TestOtherCluster(t *testing.T) {
	shipped, c := cluster(t, 4)
	env, obs, act := begin(t, &c, 0)
	policy, out := must.Get(shipped.Policy(env.Spec()))(t), envs.NewOutcome(env.Spec())
	last := 0
	for range 150 {
		must.Do(t, policy.Act(obs, act, true))
		last = max(last, int(act.Kinds[0][2]))
		must.Do(t, env.Step(act, obs, out))
	}
	if last < 16 {
		t.Errorf("of 64 nodes the last one that was chosen is %d", last)
	}
	c.Amounts = []float64{0.5, 1, 2}
	fewer := must.Get(catalog.Default().NewEnv(placement.ID, &c, newWorld().load))(t)
	if _, err := shipped.Policy(fewer.Spec()); err == nil {
		t.Error("a policy that gives four amounts was opened where there are three")
	}
}

// One decision in the midst of an episode, by the number of nodes: the mean over states along an episode.
func BenchmarkDecision(b *testing.B) {
	const states = 20
	for _, times := range []int{1, 4, 16} {
		shipped, c := cluster(b, times)
		var do [4][]func() error
		names := [4]string{"sjf-nodes", "tetris", gnnName, "lookahead"}
		for k := range states {
			env, obs, act := begin(b, &c, times*(60+15*k))
			for i, name := range names {
				a := rollout.Actor{}
				if name == gnnName {
					a.Policy = must.Get(shipped.Policy(env.Spec()))(b)
				} else {
					a = must.Get(must.Get(eval.Baseline(name, name, nil))(b).Versions[0].New(env))(b)
				}
				do[i] = append(do[i], func() error {
					if a.Planner != nil {
						return a.Planner.Plan(env, obs, act)
					}
					return a.Policy.Act(obs, act, true)
				})
			}
		}
		for i, name := range names {
			b.Run(fmt.Sprintf("%d nodes/%s", 16*times, name), func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					must.Do(b, do[i][n%states]())
				}
			})
		}
	}
}
