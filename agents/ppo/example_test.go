package ppo_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/nets/native"
)

// A learner in a loop of its own.
func Example() {
	if err := learn(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ppo after 32 updates
	// acts within its space: true
}

func learn() error {
	v, err := envs.NewVector(func() (envs.Env, error) { return classic.NewLQR(classic.DefaultLQR()) },
		envs.VectorOptions{NumEnvs: 4, Seed: 1})
	if err != nil {
		return err
	}
	c := ppo.Default()
	c.Rollout, c.Epochs, c.Minibatches = 100, 4, 4
	cpu := native.New(native.Options{})
	l, err := ppo.New(c, agents.Context{Spec: v.Spec(), NumEnvs: v.NumEnvs(), Train: cpu, Act: cpu, Seed: 1, Steps: 800})
	if err != nil {
		return err
	}
	if err := v.Reset(); err != nil {
		return err
	}
	for range 200 {
		for _, phase := range []func() error{
			func() error { return l.Act(v) }, v.Step, func() error { return l.Observe(v) }, l.Update,
		} {
			if err := phase(); err != nil {
				return err
			}
		}
	}
	p, err := l.Policy()
	if err != nil {
		return err
	}
	l.Metrics(func(name string, value float64) {
		if name == "train/n_updates" {
			fmt.Printf("%s after %g updates\n", p.Name(), value)
		}
	})
	act := envs.NewAction(v.Spec())
	if err := p.Act(v.Obs.Env(0), act, true); err != nil {
		return err
	}
	fmt.Println("acts within its space:", envs.CheckAction(v.Spec(), nil, act) == nil)
	return nil
}
