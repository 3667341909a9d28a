package reinforce

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
)

func FuzzState(f *testing.F) {
	c := quick()
	c.Episodes, c.TargetTau, c.Replay.Trajectories = 2, 0.1, 4
	choicetest.FuzzState(f, choicetest.Toy{Length: 5}, 33, func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}
