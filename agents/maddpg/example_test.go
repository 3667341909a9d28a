package maddpg_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/nets/native"
)

// A learner in its own training loop; its policy is exported and opened again.
func Example() {
	if err := learn(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// maddpg after 100 updates
	// acts within its space: true
}

func learn() error {
	v, err := envs.NewVector(func() (envs.Env, error) { return classic.NewSpread(classic.DefaultSpread()) },
		envs.VectorOptions{NumEnvs: 4, Seed: 1})
	if err != nil {
		return err
	}

	c := maddpg.Default()
	c.Mix, c.Hidden, c.LearningStarts, c.RandomSteps, c.UpdateEvery = maddpg.Joint, []int{16}, 100, 0, 4
	cpu := native.New(native.Options{})
	l, err := maddpg.New(c, agents.Context{Spec: v.Spec(), NumEnvs: v.NumEnvs(), Train: cpu, Act: cpu, Seed: 1, Steps: 500})
	if err != nil {
		return err
	}
	if err := v.Reset(); err != nil {
		return err
	}
	for range 125 {
		for _, phase := range []func() error{
			func() error { return l.Act(v) }, v.Step, func() error { return l.Observe(v) }, l.Update,
		} {
			if err := phase(); err != nil {
				return err
			}
		}
	}
	trained, err := l.Policy()
	if err != nil {
		return err
	}
	l.Metrics(func(name string, value float64) {
		if name == "train/n_updates" {
			fmt.Printf("%s after %g updates\n", trained.Name(), value)
		}
	})

	file, err := trained.Export()
	if err != nil {
		return err
	}
	served, err := actor.Open(file, v.Spec(), cpu)
	if err != nil {
		return err
	}
	act := envs.NewAction(v.Spec())
	if err := served.Act(v.Obs.Env(0), act, true); err != nil {
		return err
	}
	fmt.Println("acts within its space:", envs.CheckAction(v.Spec(), nil, act) == nil)
	return nil
}
