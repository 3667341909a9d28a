package spsa_test

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
)

// Find the constant control that costs least. A control that pushes the state away costs more, so the best is no
// control.
func Example() {
	if err := findControl(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the control that began at 0.8 is within 0.02 of none: true
}

func findControl() error {
	build := func() (envs.Env, error) { return classic.NewLQR(classic.DefaultLQR()) }
	v, err := envs.NewVector(build, envs.VectorOptions{NumEnvs: 16, Seed: 1})
	if err != nil {
		return err
	}
	if err := v.Reset(); err != nil {
		return err
	}
	c := spsa.Default()
	c.Prices = spsa.Block{Start: []float64{0.8}, Perturbation: 0.1, Step: 0.5, Unit: 1}
	c.Baselines.Start = nil // the control is a number without whole ones beside it
	l, err := spsa.NewLearner(c, agents.Context{Spec: v.Spec(), NumEnvs: v.NumEnvs(), Seed: 1, NewEnv: build})
	if err != nil {
		return err
	}
	for range 2_000 {
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
	act := envs.NewAction(v.Spec())
	if err := p.Act(v.Obs.Env(0), act, true); err != nil {
		return err
	}
	fmt.Println("the control that began at 0.8 is within 0.02 of none:", math.Abs(float64(act.Kinds[0][0])) < 0.02)
	return nil
}
