// Command step shows the loop that users of Gymnasium know: make an environment by its id, reset it with a seed, act,
// step, read what it reports. Every function of FaaSConf's Parallel workflow gets the middle of each range.
//
//	go run ./examples/step
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	const id = "stoker/Sizing-v2"
	c := catalog.Default()
	config, err := c.EnvConfig(id) // a pointer to a struct with the defaults: docs/configuration.md
	if err != nil {
		return err
	}
	env, err := c.NewEnv(id, config, workload.Default())
	if err != nil {
		return err
	}

	// The caller owns the buffers. Step fills them and allocates nothing.
	spec := env.Spec()
	obs, act, out := envs.NewObservation(spec), envs.NewAction(spec), envs.NewOutcome(spec)
	if err := env.Reset(7, nil, obs); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d %s agents, each sees %d numbers and decides %d\n", spec.ID, spec.Agents(), spec.Kinds[0].Name,
		spec.Kinds[0].Observation.Width(), spec.Kinds[0].Action.Width())

	price, err := spec.InfoIndex("price")
	if err != nil {
		return err
	}
	latency, err := spec.InfoIndex("latency")
	if err != nil {
		return err
	}
	var total float64
	for step := range 5 {
		for i := range act.Kinds[0] { // [agents × width] of the first kind
			act.Kinds[0][i] = 0.5
		}
		if err := env.Step(act, obs, out); err != nil {
			return err
		}
		total += float64(out.Rewards[0][0])
		fmt.Fprintf(w, "window %d of %.0f s: %.2f USD/h, mean latency %.1f s, reward %.2f\n", step+1,
			float64(out.Elapsed)/1e6, out.Info[price], out.Info[latency], out.Rewards[0][0])
		if out.Terminated || out.Truncated {
			break
		}
	}
	fmt.Fprintf(w, "return of the first agent: %.2f\n", total)
	return nil
}
