package serve_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// A request splits a video into 100 parts, works on at most 40 of them together (as AWS Step Functions' inline Map does),
// and joins them. The platform starts 20 instances a second, which then take 300 ms to be ready.
func Example() {
	flow, err := workflow.New("video", workflow.Chain("split", "work", "join")).Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	platform := sim.Config{StartRate: 20, SketchBits: sim.NoSketch}
	for _, name := range flow.Functions() {
		platform.Functions = append(platform.Functions, sim.Function{
			Name: name, ColdStart: sim.Law{Mean: 0.3}, BindCold: true, Queue: sim.NoLimit, KeepAlive: sim.Minute,
			Sizing: sim.Sizing{Concurrency: 1, Speed: 1, Max: sim.NoLimit},
		})
	}
	var w *serve.Walk
	w, err = serve.New(serve.Config{
		Flow: flow, Platform: platform,
		Hooks: serve.Hooks{
			Work: func(v *serve.Visit) (float64, uint64) { return []float64{1, 2, 1}[v.Function], uint64(v.Task) },
			Tasks: func(v *serve.Visit) (tasks, together int) {
				if v.Node == 1 {
					return 100, 40
				}
				return 1, 1
			},
			Ended: func(q serve.Request) {
				fmt.Printf("request %d took %.2f s\n", q.B, (w.Sim().Now() - q.Begun).Seconds())
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for request := range uint64(2) { // the second finds warm instances
		if err := w.Request(0, request); err != nil {
			fmt.Println(err)
		}
		if err := w.Run(w.Sim().Now() + 20*sim.Second); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// request 0 took 10.00 s
	// request 1 took 8.00 s
}
