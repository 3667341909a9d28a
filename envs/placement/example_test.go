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

// What a platform knows of its cluster becomes an observation, and an action becomes a start. Here one request has
// arrived, whose first function is warm on the second node.
func ExampleObserver() {
	c := placement.Default()
	c.Nodes = []placement.NodeClass{
		{Name: "small", Count: 1, CPU: 2000, Memory: 4096, Network: 1000, Speed: 1, Price: 1},
		{Name: "large", Count: 1, CPU: 4000, Memory: 8192, Network: 2500, Speed: 1.5, Price: 1.6},
	}
	c.Functions = []placement.Function{
		{Name: "decode", CPU: 500, Memory: 256, Network: 100, Image: 80, Parallel: 0.7},
		{Name: "detect", CPU: 1500, Memory: 1024, Network: 50, Image: 600, Parallel: 0.9},
	}
	c.Workflows = []placement.Workflow{{Name: "frames", Share: 1, Steps: []placement.Step{
		{Name: "decode", Function: "decode", Work: 0.4, Output: 6},
		{Name: "detect", Function: "detect", Work: 2, After: []string{"decode"}},
	}}}
	o, err := placement.NewObserver(c, workload.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	cluster, err := placement.ParseCluster([]byte(`{"now": 71.5,
		"nodes": [{"recent": 0.1}, {"recent": 0.35, "others": {"cpu": 2500, "memory": 1024, "network": 0, "gpu": 0}}],
		"functions": [{"last": 71.5, "cold_share": 0.2}, {"last": 68, "cold_share": 0.4}],
		"requests": [{"workflow": 0, "priority": 0, "size": 1, "arrived": 71.5, "deadline": 80.7}],
		"waiting": [{"request": 0, "step": 0, "since": 71.5}],
		"running": [], "warm": [{"function": 0, "node": 1, "instances": 1}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	obs, act := envs.NewObservation(o.Spec()), envs.NewAction(o.Spec())
	if err := o.Observe(cluster, obs); err != nil {
		fmt.Println(err)
		return
	}
	// A policy would decide here: the invocation with twice its resources, on the second node.
	copy(act.Kinds[0], []float32{0, 2, 1})
	start, err := o.Start(cluster, obs, act)
	fmt.Printf("%+v %v\n", start, err)
	copy(act.Kinds[0], []float32{0, 3, 1})
	_, err = o.Start(cluster, obs, act)
	fmt.Println(err)
	// Output:
	// {Wait:false Invocation:0 Node:1 Amount:2 Resources:{CPU:1000 Memory:256 Network:200 GPU:0}} <nil>
	// stoker/Placement-v2: invocation 0 of decode does not fit node 1 with amount 3 (4)
}
