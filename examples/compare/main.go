// Command compare compares two policies on the same workload seeds, and prints the paired difference with its interval:
// Kubernetes' autoscaler at its default target of 80 % CPU, and at 40 %. A policy of one's own takes the place of either:
// envs.Policy is its contract.
//
//	go run ./examples/compare
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	// A shipped experiment says which environment and which workload; --set on the command line is the list here.
	x, err := configs.Load("configs/sizing/attmf.yaml", []string{
		"eval.baselines=[autoscaler, {name: autoscaler, cpu: 0.4}]",
	}, catalog.Default())
	if err != nil {
		return err
	}
	var policies []eval.Contestant
	for i, baseline := range x.Eval.Baselines {
		label := []string{"80 % CPU", "40 % CPU"}[i]
		p, err := eval.Baseline(label, baseline.Name, baseline.Config)
		if err != nil {
			return err
		}
		policies = append(policies, p)
	}
	played, err := eval.Run(ctx, eval.Request{
		NewEnv:      func() (envs.Env, error) { return train.NewEnv(x, "test") },
		Contestants: policies,
		Seeds:       []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, // both policies face these ten workloads
		Workers:     2,
	})
	if err != nil {
		return err
	}
	metrics, err := eval.Metrics(played.Spec, []string{"price", "violated"})
	if err != nil {
		return err
	}
	s, err := eval.Summarise(played, eval.Analysis{Metrics: metrics, Resamples: 2000, Seed: 1})
	if err != nil {
		return err
	}
	for _, c := range s.Comparisons {
		fmt.Fprintf(w, "%s: %s minus %s is %.2f [%.2f, %.2f], p = %.3f: %s\n", c.Metric, c.A, c.B, c.Difference, c.Lo, c.Hi,
			c.PHolm, c.Verdict)
	}
	return nil
}
