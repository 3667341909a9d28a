package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/bench"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/libtorch"
)

func benchCommand() *cobra.Command {
	var o bench.Options
	var asJSON bool
	var seconds float64
	c := &cobra.Command{
		Use:   "bench [NAME]…",
		Short: "Measure what this machine gives: updates, steps, requests, operations",
		Long: "Measure what this machine gives. Each line is one measurement; with --json, one JSON object a line.\n\n" +
			benchNames() + "\nThe torch engine is measured by --engine torch, which needs make cuda.",
		Example: `  stoker bench
  stoker bench attmf --agents 12 --batch 1024 --json
  stoker bench attmf op --engine torch
  stoker bench env --env stoker/CartPole-v1
  stoker bench sim --instances 230`,
		RunE: func(c *cobra.Command, names []string) error {
			list, err := bench.Find(names)
			if err != nil {
				return usage("%w", err)
			}
			if !(seconds > 0) || seconds > 3600 {
				return usage("--seconds is %g, want more than 0 and at most 3600", seconds)
			}
			if err := o.Validate(); err != nil {
				return usage("%w", err)
			}
			if o.Engine != "" || o.Device != "" {
				e := configs.Engine{Name: o.Engine, Device: o.Device}
				if e.Name == "" && e.Device != "cpu" {
					e.Name = engines.Torch
				}
				if err := runInTorch(e); err != nil {
					return err
				}
			}
			o.Time = time.Duration(seconds * float64(time.Second))
			return runBench(c, list, o, asJSON, len(names) == 0)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, b := range bench.All() {
				out = append(out, b.Name+"\t"+b.Doc)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	fl := c.Flags()
	fl.IntSliceVar(&o.Agents, "agents", nil, "numbers of agents of attmf")
	fl.IntSliceVar(&o.Batch, "batch", nil, "batch sizes of attmf")
	fl.IntSliceVar(&o.Instances, "instances", nil, "numbers of instances of sim")
	fl.StringVar(&o.EnvID, "env", "", "environment of env (default: all)")
	fl.StringVar(&o.Engine, "engine", "", "native or torch")
	fl.StringVar(&o.Device, "device", "", "cpu or cuda:N")
	fl.IntVar(&o.Threads, "threads", 0, "threads of one operation; 0 leaves it to the engine")
	fl.Float64Var(&seconds, "seconds", 1, "length of each measurement")
	fl.BoolVar(&asJSON, "json", false, "print one JSON object a line")
	completeWords(c, "engine", engines.Native, engines.Torch)
	return c
}

func benchNames() string {
	out := ""
	for _, b := range bench.All() {
		out += fmt.Sprintf("  %-8s %s\n", b.Name, b.Doc)
	}
	return out
}

// runBench runs the measurements. Where all are run, those that need what is not here say so and are passed over.
func runBench(c *cobra.Command, list []bench.Benchmark, o bench.Options, asJSON, all bool) error {
	w := c.OutOrStdout()
	const row = "%-8s %-24s %-7s %7s %20s %10s %12s\n"
	printed := false
	for _, b := range list {
		if all && b.Name == "op" && !slices.Contains(engines.Names(), engines.Torch) {
			fmt.Fprintf(c.ErrOrStderr(), "op is left out: %v\n", libtorch.Unavailable("the torch engine", nil))
			continue
		}
		var failed error
		err := b.Run(o, func(r bench.Result) {
			if asJSON {
				line, err := json.Marshal(r)
				failed = errors.Join(failed, err)
				fmt.Fprintf(w, "%s\n", line)
				return
			}
			if !printed {
				fmt.Fprintf(w, row, "what", "of", "engine", "threads", "rate", "time", "allocations")
				printed = true
			}
			threads := ""
			if r.Threads > 0 {
				threads = strconv.Itoa(r.Threads)
			}
			// Not a tabwriter: each line is printed when it is measured.
			fmt.Fprintf(w, row, r.Bench, of(r), r.Engine, threads, r.Rate(), duration(r.Nanoseconds), fmt.Sprintf("%.3g", r.Allocations))
		})
		if err := errors.Join(err, failed); err != nil {
			return fmt.Errorf("bench %s: %w", b.Name, err)
		}
	}
	return nil
}

// duration writes nanoseconds with three digits.
func duration(ns float64) string {
	unit := "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if ns < 999.5 {
			break
		}
		ns, unit = ns/1000, next
	}
	return bench.Digits(ns) + " " + unit
}

// of says what was measured, in a few words.
func of(r bench.Result) string {
	switch {
	case r.Env != "":
		return r.Env
	case r.Size > 0:
		return fmt.Sprintf("%d instances", r.Size)
	case r.Agents > 0:
		return fmt.Sprintf("%d agents × %d", r.Agents, r.Batch)
	}
	return r.What
}
