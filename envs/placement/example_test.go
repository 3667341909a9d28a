package placement_test

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Start the first invocation that fits, with the smallest amount, on the first node that it fits; else wait.
func ExampleNew() {
	c := placement.Default()
	c.Workload, c.Load = placement.Bursty, 1.1
	env, err := placement.New(c, workload.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	kind := env.Spec().Kinds[0]
	obs, act, out := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec()), envs.NewOutcome(env.Spec())
	if err := env.Reset(1, nil, obs); err != nil {
		fmt.Println(err)
		return
	}
	masks := make([][]bool, 3)
	for i, n := range envs.Choices(kind.Action) {
		masks[i] = make([]bool, n)
	}
	for !out.Terminated {
		for i, mask := range masks {
			// What is legal depends on the choices before.
			if err := kind.MaskAfter(&obs.Kinds[0], 0, act.Kinds[0][:i], mask); err != nil {
				fmt.Println(err)
				return
			}
			act.Kinds[0][i] = float32(slices.Index(mask, true))
		}
		if err := env.Step(act, obs, out); err != nil {
			fmt.Println(err)
			return
		}
	}
	slowdown, _ := env.Spec().InfoIndex("slowdown")
	finished, _ := env.Spec().InfoIndex("finished")
	fmt.Printf("load %.1f, %s: %g requests, mean slowdown %.2f\n", env.Load(), c.Workload, out.Info[finished],
		out.Info[slowdown])
	// Output:
	// load 1.1, bursty: 103 requests, mean slowdown 2.43
}
