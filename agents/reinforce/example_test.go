package reinforce_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/reinforce"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/nets/native"
)

// A learner in a loop of its own: it finds out which of two arms pays.
func Example() {
	if err := learn(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// reinforce after 100 updates
	// pulls arm 1
}

func learn() error {
	arms := classic.BanditConfig{Means: []float64{0, 1}, Deviation: 0.5}
	v, err := envs.NewVector(func() (envs.Env, error) { return classic.NewBandit(arms) },
		envs.VectorOptions{NumEnvs: 8, Seed: 1})
	if err != nil {
		return err
	}
	c := reinforce.Default()
	c.Hidden, c.Rate = []int{8}, 0.01
	cpu := native.New(native.Options{})
	l, err := reinforce.New(c, agents.Context{Spec: v.Spec(), NumEnvs: v.NumEnvs(), Train: cpu, Act: cpu, Seed: 1,
		Steps: 800})
	if err != nil {
		return err
	}
	if err := v.Reset(); err != nil {
		return err
	}
	for range 100 {
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
	fmt.Printf("pulls arm %g\n", act.Kinds[0][0])
	return nil
}
