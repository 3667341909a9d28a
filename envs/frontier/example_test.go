package frontier_test

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// album is a workflow of three functions, the last two side by side, each with a small and a large memory size.
func album() frontier.Problem {
	flow, err := workflow.New("album", workflow.Fork("resize", "tag", "store")).Compile()
	if err != nil {
		panic(err)
	}
	return frontier.Problem{Flow: flow, Options: [][]frontier.Option{
		{{Seconds: 2, USD: 1e-6}, {Seconds: 1, USD: 3e-6}},
		{{Seconds: 5, USD: 2e-6}, {Seconds: 2, USD: 4e-6}},
		{{Seconds: 3, USD: 1e-6}, {Seconds: 1, USD: 2e-6}},
	}}
}

func ExampleExact() {
	front, err := frontier.Exact(context.Background(), album())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range front {
		fmt.Printf("%.0f s, %.0f USD a million, options %v\n", p.Seconds, 1e6*p.USD, p.Choice)
	}
	if p, ok := front.Cheapest(5); ok {
		fmt.Printf("within 5 s: %.0f USD a million\n", 1e6*p.USD)
	}
	// Output:
	// 3 s, 9 USD a million, options [1 1 1]
	// 4 s, 7 USD a million, options [0 1 1]
	// 5 s, 6 USD a million, options [0 1 0]
	// 7 s, 4 USD a million, options [0 0 0]
	// within 5 s: 6 USD a million
}

// What is left of a request is a problem too: a function that has run takes no more time and money, and one that runs
// takes what is left of it.
func ExampleExact_remaining() {
	p := album()
	p.Options[0] = []frontier.Option{{}}             // resize is done
	p.Options[2] = []frontier.Option{{Seconds: 2.5}} // store runs for 2.5 s more
	front, err := frontier.Exact(context.Background(), p)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range front {
		fmt.Printf("%.1f s, %.0f USD a million, options %v\n", p.Seconds, 1e6*p.USD, p.Choice)
	}
	// Output:
	// 2.5 s, 4 USD a million, options [0 1 0]
	// 5.0 s, 2 USD a million, options [0 0 0]
}
