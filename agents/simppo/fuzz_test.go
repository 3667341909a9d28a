package simppo

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// Whatever a policy file holds, it is refused with an error or its policy acts, in its own workflow and in another.
func FuzzPolicyFile(f *testing.F) {
	w := newWorld(f, quick(), sizing.Parallel)
	p := must.Get(w.l.Policy())(f)
	whole := must.Get(p.Export())(f)
	f.Add(whole.Description, "function.network", len(whole.Arrays["function.network"].Data), []byte{})
	f.Add([]byte(`{"format":"actor/1","stream":"","kinds":[{"name":"function","head":"gaussian","members":["a"]}]}`), "function.log_std", 1, []byte{0, 0, 0xc0, 0x7f})
	act := native.New(native.Options{})
	flows := []envs.Env{newWorkflow(f, sizing.Parallel), newWorkflow(f, sizing.Branch)}
	f.Fuzz(func(t *testing.T, description []byte, array string, length int, values []byte) {
		file := choicetest.Forge(whole, description, array, length, 1<<12, values)
		if old, ok := whole.Arrays[array]; ok {
			file.Arrays[array] = agents.Array{Shape: old.Shape, Data: file.Arrays[array].Data}
		}
		for _, e := range flows {
			obs, do := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
			must.Do(t, e.Reset(1, nil, obs))
			p, err := actor.Open(file, e.Spec(), act)
			if err != nil || p.Act(obs, do, len(values)%2 == 0) != nil {
				continue
			}
			if err := envs.CheckAction(e.Spec(), nil, do); err != nil {
				t.Fatalf("an accepted policy does what is no action: %v", err)
			}
			choicetest.Restores(t, p)
		}
	})
}

func FuzzState(f *testing.F) {
	choicetest.FuzzState(f, func() envs.Env { return newWorkflow(f, sizing.Parallel) }, 11,
		func(ctx agents.Context) (agents.Learner, error) { return NewLearner(quick(), ctx) })
}
