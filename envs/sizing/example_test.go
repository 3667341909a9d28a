package sizing_test

import (
	"fmt"
	"strings"

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

// What a platform measured in a window becomes an observation, and an action becomes settings. The numbers come as JSON,
// here of one function of TcktApp's twelve; the others are at rest.
func ExampleObserver() {
	c := sizing.DefaultCounted()
	c.Workflow, c.Features, c.LoadKnown = sizing.TcktApp, sizing.Described, true
	o, err := sizing.NewObserver(sizing.CountedID, c, false)
	if err != nil {
		panic(err)
	}
	function := `{"asked": {"cores": 0.5, "mb": 512, "replicas": 2, "concurrency": 1},
		"deployed": {"cores": 0.5, "mb": 512, "replicas": 2, "concurrency": 1}, "instances": 2, "cpu_percent": 61,
		"throttled_millicores": 0, "memory_mb": 410, "memory_limit_mb": 1024, "network_bytes": 90000, "p75": 0.2, "p95": 0.41,
		"rejected": 0, "inside": 1.3}`
	meters, err := sizing.ParseMeters([]byte(`{"began": 75, "latency": 2.1, "success": 0.99, "forecast": 3,
		"history": {"windows": 2, "began": 60, "slow": 60},
		"functions": [` + function + strings.Repeat(","+function, 11) + `]}`))
	if err != nil {
		panic(err)
	}
	spec := o.Spec()
	obs, act := envs.NewObservation(spec), envs.NewAction(spec)
	if err := o.Observe(meters, obs); err != nil {
		panic(err)
	}
	// A policy would decide here. This action is the middle of all ranges.
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = 0.5
	}
	settings := make([]sizing.Settings, spec.Kinds[0].Agents)
	if err := o.Settings(act, settings); err != nil {
		panic(err)
	}
	fmt.Printf("%s: %+v\n", o.Functions(0)[0], settings[0])
	fmt.Println("fits the machines:", o.Fits(settings) == nil)
	meters[0].Forecast = nil
	fmt.Println(o.Observe(meters, obs))
	// Output:
	// get-left-trip-tickets: {Cores:0.625 MB:576 Replicas:4 Concurrency:1}
	// fits the machines: true
	// stoker/Sizing-v3: meters: forecast is missing, want the load expected in the next window in requests a second: the policy was trained with load_known or load_next
}
