package deeprm_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
)

// Start the first job that fits, until nothing fits; then let a time step pass.
func ExampleNew() {
	c := deeprm.Default()
	c.Observation = deeprm.Compact
	env, err := deeprm.New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	obs, act, out := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec()), envs.NewOutcome(env.Spec())
	if err := env.Reset(1, nil, obs); err != nil {
		fmt.Println(err)
		return
	}
	for !out.Terminated {
		place := 0
		for !obs.Kinds[0].Mask[place] {
			place++
		}
		act.Kinds[0][0] = float32(place)
		if err := env.Step(act, obs, out); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("load %.2f: %g jobs, mean slowdown %.2f\n", c.Load(), out.Info[1], out.Info[0])
	// Output:
	// load 1.29: 33 jobs, mean slowdown 13.70
}
