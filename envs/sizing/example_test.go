package sizing_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Ten users in a closed loop of FaaSConf's Parallel workflow, with every function in the middle of its ranges.
func Example() {
	load := workload.Default()
	load.Kind = workload.ClosedLoop
	c := sizing.Default()
	c.Windows = 3
	env, err := sizing.New(c, load)
	if err != nil {
		panic(err)
	}
	spec := env.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	if err := env.Reset(1, nil, obs); err != nil {
		panic(err)
	}
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = 0.5
	}
	for !out.Truncated {
		if err := env.Step(act, obs, out); err != nil {
			panic(err)
		}
		fmt.Printf("%.2f USD/h, mean latency %.1f s, %.0f successes, reward %.3f\n", out.Info[0], out.Info[3], out.Info[7],
			out.Rewards[0][0])
	}
	// Output:
	// 5.00 USD/h, mean latency 11.4 s, 21 successes, reward -0.000
	// 5.00 USD/h, mean latency 10.6 s, 21 successes, reward -0.000
	// 5.00 USD/h, mean latency 10.5 s, 23 successes, reward -0.000
}
