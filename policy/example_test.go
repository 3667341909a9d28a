package policy_test

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

// An autoscaler asks a policy that sizes the functions of a workflow. What it measured of a window becomes the
// observation, and the action becomes settings, by the environment's own code.
func ExampleOpen_sizing() {
	file, remove := policytest.File("faasconf") // as stoker export zoo:faasconf does
	defer remove()
	p, err := policy.Open(file, policy.Options{})
	if err != nil {
		panic(err)
	}
	e := p.Bundle().Environment
	o, err := sizing.OpenObserver(e.ID, e.Config, e.Workload)
	if err != nil {
		panic(err)
	}
	meters := make([]sizing.Meters, 1)
	m := &meters[0]
	m.Functions = make([]sizing.FunctionMeters, len(o.Functions(0)))
	seen, act := p.NewObservation(), p.NewAction()
	settings := make([]sizing.Settings, len(m.Functions))

	// In every window of 30 s:
	m.Next()
	m.Began, m.Latency, m.Success, m.Dial = 90, 7.1, 0.97, 1
	for f := range m.Functions {
		deployed := sizing.Settings{Cores: 1.125, MB: 1152, Replicas: 4, Concurrency: 5}
		m.Functions[f] = sizing.FunctionMeters{Asked: deployed, Deployed: deployed, Instances: 4, CPU: 150, Memory: 1800,
			MemoryLimit: 4608, Network: 2e5, P75: 1.4, P95: 2.2, Inside: 1.5}
	}
	if err := o.Observe(meters, seen); err != nil {
		panic(err)
	}
	decision, err := p.Decide(context.Background(), seen, act)
	if err != nil {
		panic(err)
	}
	if err := o.Settings(act, settings); err != nil {
		panic(err)
	}
	fmt.Println("decided by the", decision.By)
	fmt.Printf("%s: %+v\n", o.Functions(0)[0], settings[0])
	// Output:
	// decided by the policy
	// starter: {Cores:1.541 MB:2048 Replicas:6 Concurrency:7}
}

// A provider asks a policy that prices tiers of service and keeps vGPUs alive for them.
func ExampleOpen_pricing() {
	file, remove := policytest.File("hops-pricer")
	defer remove()
	p, err := policy.Open(file, policy.Options{})
	if err != nil {
		panic(err)
	}
	o, err := pricing.OpenObserver(p.Bundle().Environment.Config)
	if err != nil {
		panic(err)
	}
	m, err := pricing.ParseMeters([]byte(`{"potential": 110, "next": 9, "revenue": 25200, "base": 1690, "gpu": 410,
		"switch": 190, "sla": 1400, "utilisation": 0.83, "tiers": [
			{"price": 1.3, "keep_alive": 7, "rate": 7.1, "arrived": 421, "violated": 4, "begun": 410, "waiting": 7},
			{"price": 1.3, "keep_alive": 18, "rate": 16.2, "arrived": 990, "violated": 19, "begun": 970, "waiting": 13},
			{"price": 1.4, "keep_alive": 31, "rate": 24.7, "arrived": 1480, "violated": 121, "begun": 1470, "waiting": 12}]}`))
	if err != nil {
		panic(err)
	}
	seen, act := p.NewObservation(), p.NewAction()
	if err := o.Observe(m, seen); err != nil {
		panic(err)
	}
	decision, err := p.Decide(context.Background(), seen, act)
	if err != nil {
		panic(err)
	}
	prices := make([]pricing.TierPrice, len(m.Tiers))
	if err := o.Prices(act, prices); err != nil {
		panic(err)
	}
	fmt.Println("decided by the", decision.By)
	fmt.Printf("tier 1: %.2f, %d vGPUs\n", prices[0].Price, prices[0].KeepAlive)

	// Beyond what the evaluation met a rule decides.
	m.Utilisation, m.Tiers[0].Waiting = 1, 20000
	if err := o.Observe(m, seen); err != nil {
		panic(err)
	}
	if decision, err = p.Decide(context.Background(), seen, act); err != nil {
		panic(err)
	}
	fmt.Println("decided by the", decision.By, "because a feature is", decision.Reason, "-", decision.Where.Name)
	// Output:
	// decided by the policy
	// tier 1: 1.36, 7 vGPUs
	// decided by the fallback because a feature is out-of-range - waiting 1
}

// A scheduler asks a policy that places invocations on nodes: one start at a time, until it says wait.
func ExampleOpen_placement() {
	file, remove := policytest.File("gnn-placement")
	defer remove()
	p, err := policy.Open(file, policy.Options{})
	if err != nil {
		panic(err)
	}
	e := p.Bundle().Environment
	o, err := placement.OpenObserver(e.Config, e.Workload)
	if err != nil {
		panic(err)
	}
	// One request has come, and its first step waits. Nothing runs.
	c := &placement.Cluster{Now: 71.5, Nodes: make([]placement.NodeMeters, o.Layout().Nodes),
		Functions: make([]placement.FunctionMeters, len(o.Functions())),
		Requests:  []placement.Request{{Size: 1, Arrived: 71.5, Deadline: 90}},
		Waiting:   []placement.Waiting{{Since: 71.5}}}
	seen, act := p.NewObservation(), p.NewAction()
	if err := o.Observe(c, seen); err != nil {
		panic(err)
	}
	decision, err := p.Decide(context.Background(), seen, act)
	if err != nil {
		panic(err)
	}
	start, err := o.Start(c, seen, act)
	if err != nil {
		panic(err)
	}
	fmt.Println("decided by the", decision.By)
	fmt.Printf("%+v\n", start)
	// Output:
	// decided by the policy
	// {Wait:false Invocation:0 Node:8 Amount:1 Resources:{CPU:544 Memory:291 Network:44 GPU:0}}
}
