package reinforce

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/internal/graphstest"
	"github.com/stoker-rl/stoker/envs"
)

func FuzzState(f *testing.F) {
	c := quick()
	c.Episodes, c.TargetTau, c.Replay.Trajectories = 2, 0.1, 4
	choicetest.FuzzState(f, func() envs.Env { return choicetest.NewToy(choicetest.Toy{Length: 5}) }, 33,
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}

func FuzzGraphState(f *testing.F) {
	c := quickGraphs()
	c.Episodes, c.TargetTau, c.Replay.Trajectories = 2, 0.1, 2
	choicetest.FuzzState(f, func() envs.Env { return graphstest.NewToy(3) }, 10,
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}
