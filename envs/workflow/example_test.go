package workflow_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// A request thumbnails an image, then tags and stores it side by side; one in ten is done again.
func ExampleGraph_Compile() {
	g := workflow.New("album",
		workflow.Fork("thumbnail", "tag", "store"),
		workflow.Join("index", "tag", "store"),
		workflow.Repeat("index", "thumbnail", 0.1),
		workflow.Choice("index", workflow.To(workflow.End, 0.9)))
	w, err := g.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	times := []float64{0.2, 1.5, 0.4, 0.1} // seconds, in the order of the nodes
	fmt.Printf("%.2f s expected\n", w.Response(times, workflow.Delays{}))
	path, _ := w.CriticalPath(nil, times, workflow.Delays{})
	for _, n := range path {
		fmt.Println(w.NodeName(n))
	}
	// Output:
	// 2.00 s expected
	// thumbnail
	// tag
	// index
}

// A tracker says what starts next; here every node's work is done as soon as it starts.
func ExampleTracker() {
	w, err := workflow.FaaSConfParallel().Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	t := workflow.NewTracker(w, 1)
	var step workflow.Step
	run := t.Begin(0, 0, &step)
	for !step.Finished {
		var at []int32
		var names []string
		for _, v := range step.Start {
			at = append(at, v.Node)
			names = append(names, w.NodeName(int(v.Node)))
		}
		fmt.Println(names)
		for _, n := range at {
			if err := t.Done(run, n, &step); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	// Output:
	// [starter]
	// [rgb]
	// [resize]
	// [update]
	// [resnet mobilenet]
}
