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

// What a provider measured in a window becomes an observation, and an action becomes prices and keep-alive vGPUs.
func ExampleObserver() {
	o, err := pricing.NewObserver(pricing.Default())
	if err != nil {
		panic(err)
	}
	m, err := pricing.ParseMeters([]byte(`{"potential": 44, "next": 9, "revenue": 15200, "base": 690, "gpu": 410,
		"switch": 95, "sla": 61,
		"utilisation": 0.71, "tiers": [
			{"price": 1.1, "keep_alive": 8, "rate": 15.1, "arrived": 921, "violated": 4, "begun": 918, "waiting": 7},
			{"price": 1.3, "keep_alive": 15, "rate": 14.2, "arrived": 850, "violated": 9, "begun": 849, "waiting": 3},
			{"price": 1.5, "keep_alive": 20, "rate": 14.7, "arrived": 877, "violated": 21, "begun": 870, "waiting": 2}]}`))
	if err != nil {
		panic(err)
	}
	spec := o.Spec()
	obs, act := envs.NewObservation(spec), envs.NewAction(spec)
	if err := o.Observe(m, obs); err != nil {
		panic(err)
	}
	// A policy would decide here.
	copy(act.Kinds[0], []float32{1.25, 1.5, 1.75, 20, 30, 20})
	fmt.Println(o.Fits(act))
	prices := make([]pricing.TierPrice, len(m.Tiers))
	if err := o.Prices(act, prices); err != nil {
		panic(err)
	}
	fmt.Println(prices)
	// Output:
	// stoker/Pricing-v1: the tiers ask for 70 keep-alive vGPUs, there are 64
	// [{1.25 20} {1.5 24} {1.75 20}]
}

// The same for a scheduler: what it measured of functions in a slot, and which vGPUs it switches.
func ExampleSlotObserver() {
	c := pricing.Default()
	c.Tiers = []pricing.Tier{{SLA: 3, Functions: 2, Service: 1, Demand: 5, Penalty: 4, Rate: 30}}
	c.Prices, c.Baselines, c.Acts = []float64{1}, []int{4}, pricing.ActsMoves
	o, err := pricing.NewSlotObserver(c)
	if err != nil {
		panic(err)
	}
	m := pricing.NewSlotMeters(1, 2)
	m.Slot, m.Off, m.Tiers[0] = 12, 60, pricing.TierPrice{Price: 1.1, KeepAlive: 4}
	m.Queue[0], m.Arrived[0], m.Estimate[0], m.Keep[0], m.Warm[0] = 5, 4, 3.2, 2, 1
	m.Estimate[1], m.Keep[1], m.IdleKeep[1] = 0.4, 2, 2
	obs, act := envs.NewObservation(o.Spec()), envs.NewAction(o.Spec())
	if err := o.Observe(m, obs); err != nil {
		panic(err)
	}
	// A policy would decide here: three vGPUs more for the first function, and as many as now for the second.
	copy(act.Kinds[0], []float32{pricing.MostOff + 3, pricing.MostOff})
	switches := make([]pricing.Switches, 2)
	if err := o.Switches(act, m, switches); err != nil {
		panic(err)
	}
	fmt.Printf("%+v\n", switches[0])
	// Output:
	// {Warm:1 Cold:2 Release:0 Give:0 Take:0}
}
