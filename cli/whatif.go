package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/whatif"
)

func whatifCommand() *cobra.Command {
	var q whatif.Request
	var k configs.Machine
	var j configs.Job
	var front, plot, load, orchestration string
	var asJSON, asYAML bool
	c := &cobra.Command{
		Use:   "whatif APP",
		Short: "Find the memory size and model variant of every function of an application, under constraints",
		Long: `Find the best configuration of a serverless application: the memory size and the model variant of each function. APP is
an application's file (docs/applications.md says what it has), app1 to app6, a state machine of AWS Step Functions
(Amazon States Language, JSON) with measured runs of its functions in --profiles, or a file of jobs of stages
(docs/workflows.md), of which --job names one: each stage's number of executors is then found.

Without an option the ends of what is possible are printed. With constraints the answer is the exact optimum, not a
heuristic's: the cheapest configuration within --latency or --p95, the fastest within --budget, the most accurate
within both; --objective says otherwise. Costs are in USD per million executions. With --p95 the search can end at its limit
of distributions, and with --limit or Ctrl-C any search ends early: the answer is then the best plan found, and says how
much cheaper or faster a configuration could be at most.

A mean says little where instances start cold. --load serves the plan with simulated instances under Poisson arrivals
of so many requests a second, under the load in a file (docs/cold-starts.md), or under a trace: azure2019 or the folder of
one. It prints response times and bills as measured. With --measured the plan keeps --latency or --p95 there: the
cheapest one of the exact trade-offs that does.

--front writes every configuration that no other one dominates in time, cost and accuracy as CSV, --plot draws them.
Where the constraints cannot be met the exit code is 1, and the nearest ones that can be are named.`,
		Example: `  stoker whatif app4
  stoker whatif app.yaml --latency 40 --accuracy 1
  stoker whatif app.yaml --budget 500 --json
  stoker whatif app.yaml --p95 60 --accuracy 0.9 --limit 20s
  stoker whatif app.yaml --latency 40 --front front.csv --plot front.png
  stoker whatif app.yaml --latency 40 --load 0.05
  stoker whatif app.yaml --p95 40 --load load.yaml --measured
  stoker whatif app4 --latency 15 --accuracy 1 --load azure2019
  stoker whatif app4 --yaml > app.yaml
  stoker whatif machine.asl.json --profiles data.csv --facts facts.yaml --plot front.png
  stoker whatif tpch_dags_summary.json --job tpch-9-2g --latency 30`,
		Args: args(1, 1, "an application's file, or app1 to app6,"),
		RunE: func(c *cobra.Command, a []string) error {
			if err := readLoad(&q, load); err != nil {
				return err
			}
			if _, _, err := q.Problem(); err != nil {
				return usage("%w", err)
			}
			if plot != "" {
				if err := whatif.CheckPlot(plot); err != nil {
					return usage("--plot: %w", err)
				}
			}
			k.Orchestration = bill.Orchestration(orchestration)
			m, err := openApp(a[0], k, j)
			if err != nil {
				return usage("%w", err)
			}
			w := c.OutOrStdout()
			if asYAML {
				text, err := configs.DumpApp(m)
				if err == nil {
					_, err = w.Write(text)
				}
				return err
			}
			ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping with the best plan found")
			defer release()
			r, err := whatif.Ask(ctx, m, q, stageProgress(c))
			if errors.Is(err, context.Canceled) {
				return context.Cause(ctx)
			}
			var none *variants.Infeasible
			if asJSON && errors.As(err, &none) {
				return errors.Join(err, printJSON(w, none))
			}
			if err != nil {
				return err
			}
			var files []string
			if ctx.Err() == nil {
				if files, err = writeFront(ctx, m, q, r, front, plot); errors.Is(err, context.Canceled) {
					err = context.Cause(ctx)
				}
			}
			if asJSON {
				return errors.Join(err, printJSON(w, r), context.Cause(ctx))
			}
			fmt.Fprint(w, whatif.Text(r))
			for _, f := range files {
				fmt.Fprintf(w, "wrote %s\n", f)
			}
			return errors.Join(err, context.Cause(ctx))
		},
		ValidArgsFunction: func(_ *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(a) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return variants.Presets(), cobra.ShellCompDirectiveDefault
		},
	}
	fl := c.Flags()
	fl.Float64Var(&q.Latency, "latency", 0, "most seconds of the mean response time")
	fl.Float64Var(&q.P95, "p95", 0, "most seconds of the response time's 95th percentile")
	fl.Float64Var(&q.Budget, "budget", 0, "most USD per million executions")
	fl.Float64Var(&q.Accuracy, "accuracy", 0, "least accuracy score of the application")
	fl.StringVar(&q.Objective, "objective", "", "what is to be best: time, cost or accuracy (default what the constraints leave open)")
	fl.DurationVar(&q.Limit, "limit", 0, "stop the search after so long, such as 20s, with the best plan found (default none)")
	fl.StringVar(&load, "load", "", "also measure the plan under so many requests a second, the load in a file, or a trace")
	fl.BoolVar(&q.Measured, "measured", false, "keep --latency or --p95 as measured under --load")
	fl.StringVar(&front, "front", "", "file for the trade-offs as CSV")
	fl.StringVar(&plot, "plot", "", "file for the figure of the trade-offs (.png, .svg or .pdf), with a CSV beside it")
	fl.StringVar(&k.Profiles, "profiles", "", "CSV file of measured runs of a state machine's functions: function, memory, ms")
	fl.StringVar(&k.Facts, "facts", "", "YAML file of a state machine's probabilities, items and waits")
	fl.StringVar(&j.Name, "job", "", "job of a file of jobs of stages, such as tpch-9-2g")
	fl.Float64Var(&j.ExecutorMB, "executor-mb", 1024, "memory of an executor of a job's stages")
	fl.BoolVar(&k.Percent, "percent", false, "read a state machine's choices that compare a number as percentages")
	fl.StringVar(&k.Tariff, "tariff", variants.Lambda, "prices of a state machine's functions, or a job's executors: lambda, lambda100 or table")
	fl.StringVar(&orchestration, "orchestration", string(bill.Standard),
		"what a state machine's transitions cost: none, standard or express")
	fl.BoolVar(&asYAML, "yaml", false, "print the application's file instead, to start one from")
	fl.BoolVar(&asJSON, "json", false, "print the answer as JSON")
	_ = c.RegisterFlagCompletionFunc("job", func(_ *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(a) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := configs.JobNames(a[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	completeWords(c, "objective", "time", "cost", "accuracy")
	completeWords(c, "tariff", variants.Lambda, variants.Lambda100, variants.Table)
	completeWords(c, "orchestration", string(bill.None), string(bill.Standard), string(bill.Express))
	return c
}

// writeFront leaves the trade-offs as CSV and as a figure, where a name is given, and returns what it wrote.
func writeFront(ctx context.Context, m *variants.Model, q whatif.Request, r *whatif.Result, front, plot string) ([]string, error) {
	if front == "" && plot == "" {
		return nil, nil
	}
	f, err := whatif.FrontOf(ctx, m, q)
	if err != nil {
		return nil, err
	}
	var files []string
	if front != "" {
		if err := f.WriteCSV(front); err != nil {
			return nil, fmt.Errorf("--front: %w", err)
		}
		files = append(files, fmt.Sprintf("%s (%d configurations)", front, f.Len()))
	}
	if plot == "" {
		return files, nil
	}
	data, err := f.Plot(plot, r)
	if err != nil {
		return nil, fmt.Errorf("--plot: %w", err)
	}
	files = append(files, plot)
	if data != front {
		files = append(files, data)
	}
	return files, nil
}

// openApp reads an application's file, a state machine or a job.
func openApp(path string, k configs.Machine, j configs.Job) (*variants.Model, error) {
	if configs.IsJobs(path) {
		j.Tariff = k.Tariff
		return configs.ReadJob(path, j)
	}
	if j.Name != "" {
		return nil, fmt.Errorf("--job: %s has no jobs of stages", path)
	}
	if configs.IsMachine(path) {
		return configs.ReadMachine(path, k)
	}
	if k.Profiles != "" || k.Facts != "" || k.Percent {
		return nil, fmt.Errorf("%s is no state machine (JSON with StartAt): profiles and probabilities are in an application's file "+
			"itself", path)
	}
	return configs.ReadApp(path)
}

// readLoad puts the load of the flag into a request.
func readLoad(q *whatif.Request, load string) error {
	if load == "" {
		return nil
	}
	l, err := configs.ReadLoad(load)
	if err != nil {
		return usage("--load: %w", err)
	}
	q.Load = &l
	return nil
}
