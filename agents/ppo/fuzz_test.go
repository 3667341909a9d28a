package ppo

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/internal/graphstest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
)

func newEngine(t testing.TB) nets.Engine {
	t.Helper()
	e := must.Get(engines.Open(engines.Native, engines.Options{Threads: 1}))(t)
	return e
}

func FuzzState(f *testing.F) {
	c := quick()
	c.Rollout = 7
	choicetest.FuzzState(f, func() envs.Env { return newCrew() }, 33,
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}

func FuzzGraphState(f *testing.F) {
	c := quick()
	c.Graph.Hidden, c.Graph.Layers, c.Rollout = 4, 1, 4
	choicetest.FuzzState(f, func() envs.Env { return graphstest.NewToy(3) }, 10,
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}
