package maddpg

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// Whatever a policy file holds, it is refused with an error or its policy acts: no panic, no gigabytes.
func FuzzPolicyFile(f *testing.F) {
	options := []toyOptions{{agents: 2}, {agents: 2, choices: true, masked: true}}
	var files []*agents.PolicyFile
	var specs []*envs.Spec
	for i, o := range options {
		r := newRun(f, quick(), o, envs.VectorOptions{})
		r.steps(30)
		file := stored(f, r)
		files, specs = append(files, file), append(specs, r.v.Spec())
		f.Add(i, file.Description, "toy.network", len(file.Arrays["toy.network"].Data), []byte{})
		f.Add(i, file.Description, "toy.shift", 1, []byte{0, 0, 0xc0, 0x7f})
	}
	act := native.New(native.Options{})
	f.Fuzz(func(t *testing.T, which int, description []byte, array string, length int, values []byte) {
		i := (which%len(files) + len(files)) % len(files)
		file := choicetest.Forge(files[i], description, array, length, 1<<12, values)
		if old, ok := files[i].Arrays[array]; ok {
			file.Arrays[array] = agents.Array{Shape: old.Shape, Data: file.Arrays[array].Data}
		}
		p, err := actor.Open(file, specs[i], act)
		if err != nil {
			return
		}
		e := newToy(options[i])
		obs, do, out := envs.NewObservation(specs[i]), envs.NewAction(specs[i]), envs.NewOutcome(specs[i])
		must.Do(t, e.Reset(1, envs.Options{}, obs))
		if p.Act(obs, do, len(values)%2 == 0) != nil {
			return
		}
		if err := e.Step(do, obs, out); err != nil {
			t.Fatalf("an accepted policy does what is no action: %v", err)
		}
		choicetest.Restores(t, p)
	})
}

func FuzzState(f *testing.F) {
	c := quick()
	c.Safe.On, c.Safe.MinHistory, c.Safe.History, c.RateFinal = true, 5, 30, 0.1
	choicetest.FuzzState(f, func() envs.Env { return newToy(toyOptions{agents: 2, length: 5}) }, 45,
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
}
