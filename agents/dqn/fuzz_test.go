package dqn

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
)

func FuzzState(f *testing.F) {
	c := quick()
	c.LearningStarts, c.Batch, c.Replay = 5, 4, 30
	choicetest.FuzzState(f, func() envs.Env { return choicetest.NewToy(choicetest.Toy{Length: 5}) }, 30,
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}

// A replay that was saved by somebody else can hold what is no choice.
func TestForgedReplay(t *testing.T) {
	for _, a := range []float32{-1, 3, float32(math.NaN()), float32(math.Inf(1))} {
		l := learn(t, quick(), choicetest.Toy{Length: 5}, 400)
		for range l.memory.buf.Capacity() {
			l.memory.buf.Add().Column(colChoice)[0] = a
		}
		l.Pending = l.c.UpdateEvery
		if err := l.Update(); err == nil || !strings.Contains(err.Error(), "want 0 to 2") {
			t.Errorf("a choice of %g gave %v", a, err)
		}
	}
}
