package pricing_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Three windows of the embedded Azure trace with the paper's final prices, its scheduler inside.
func ExampleNew() {
	c := pricing.Default()
	c.Windows, c.Demand.Start = 3, 8
	env, err := pricing.New(c, workload.Default(), nil)
	if err != nil {
		panic(err)
	}
	spec := env.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	if err := env.Reset(1, nil, obs); err != nil {
		panic(err)
	}
	for !out.Truncated {
		copy(act.Kinds[0], []float32{1.1, 1.3, 1.5, 8, 15, 20}) // prices, then keep-alive vGPUs, of tiers 1 to 3
		if err := env.Step(act, obs, out); err != nil {
			panic(err)
		}
		fmt.Printf("profit %.0f, %.0f jobs, %.0f violated\n", out.Rewards[0][0], out.Info[6], out.Info[7])
	}
	// Output:
	// profit 18042, 2469 jobs, 63 violated
	// profit 16382, 2185 jobs, 58 violated
	// profit 16240, 2362 jobs, 69 violated
}

// The scheduling environment: nobody switches anything on, so that only the configuration's keep-alive vGPUs serve.
func ExampleNewSlots() {
	c := pricing.Default()
	c.Demand.Start = 0
	env, err := pricing.NewSlots(c, workload.Default(), nil)
	if err != nil {
		panic(err)
	}
	spec := env.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	if err := env.Reset(1, nil, obs); err != nil {
		panic(err)
	}
	fmt.Println(spec.Kinds[0].Agents, "functions decide", spec.Kinds[0].Actions)
	for range 3 {
		if err := env.Step(act, obs, out); err != nil {
			panic(err)
		}
		fmt.Printf("%.0f jobs, %.0f begun, cost %.0f\n", out.Info[6], out.Info[8], -out.Rewards[0][0])
	}
	// Output:
	// 24 functions decide [warm cold release give take]
	// 33 jobs, 15 begun, cost 8
	// 41 jobs, 17 begun, cost 0
	// 31 jobs, 20 begun, cost 72
}
