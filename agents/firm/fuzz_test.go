package firm

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// Whatever a policy file holds, it is refused with an error or its policy acts.
func FuzzPolicyFile(f *testing.F) {
	w := newWorld(f, quick(), 1)
	for range 9 {
		w.step()
	}
	p := must.Get(w.l.Policy())(f)
	whole := must.Get(p.Export())(f)
	f.Add(whole.Description, "function.network", len(whole.Arrays["function.network"].Data), []byte{})
	f.Add([]byte(`{"format":"firm/2","move":2,"low":0.2,"high":0.8,"actor":{}}`), "function.shift", 1, []byte{0, 0, 0xc0, 0x7f})
	act := native.New(native.Options{})
	other := *whole
	other.Agent = "maddpg"
	if _, err := OpenPolicy(&other, newWorkflow(f, sizing.Parallel).Spec(), act); err == nil ||
		!strings.Contains(err.Error(), `made by agent "maddpg", want "firm"`) {
		f.Errorf("another agent's policy: %v", err)
	}
	e := newWorkflow(f, sizing.Parallel)
	obs, do := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
	must.Do(f, e.Reset(1, nil, obs))
	f.Fuzz(func(t *testing.T, description []byte, array string, length int, values []byte) {
		file := choicetest.Forge(whole, description, array, length, 1<<12, values)
		if old, ok := whole.Arrays[array]; ok {
			file.Arrays[array] = agents.Array{Shape: old.Shape, Data: file.Arrays[array].Data}
		}
		p, err := OpenPolicy(file, e.Spec(), act)
		if err != nil || p.Act(obs, do, true) != nil {
			return
		}
		if err := envs.CheckAction(e.Spec(), nil, do); err != nil {
			t.Fatalf("an accepted policy does what is no action: %v", err)
		}
		choicetest.Restores(t, p)
	})
}

func FuzzState(f *testing.F) {
	choicetest.FuzzState(f, func() envs.Env { return newWorkflow(f, sizing.Parallel) }, 11,
		func(ctx agents.Context) (agents.Learner, error) { return New(quick(), ctx) })
}
