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

func whatifCommand() *command {
	var q whatif.Request
	k, j := configs.Machine{Tariff: variants.Lambda}, configs.Job{ExecutorMB: 1024}
	var front, plot, load string
	var asYAML bool
	orchestration := string(bill.Standard)
	return &command{
		name: "whatif", takes: "APP", args: arguments{1, 1, "an application's file, or app1 to app6,"},
		json: "print the answer as JSON",
		flags: []flag{
			option(&q.Latency, "latency", "most seconds of the mean response time"),
			option(&q.P95, "p95", "most seconds of the response time's 95th percentile"),
			option(&q.Budget, "budget", "most USD per million executions"),
			option(&q.Accuracy, "accuracy", "least accuracy score of the application"),
			option(&q.Objective, "objective",
				"what is to be best: time, cost or accuracy (default what the constraints leave open)",
				"time", "cost", "accuracy"),
			option(&q.Limit, "limit",
				"stop the search after so long, such as 20s, with the best plan found (default none)"),
			option(&load, "load", "also measure the plan under so many requests a second, the load in a file, or a trace"),
			option(&q.Measured, "measured", "keep --latency or --p95 as measured under --load"),
			option(&front, "front", "file for the trade-offs as CSV"),
			option(&plot, "plot", "file for the figure of the trade-offs (.png, .svg or .pdf), with a CSV beside it"),
			option(&k.Profiles, "profiles",
				"CSV file of measured runs of a state machine's functions: function, memory, ms"),
			option(&k.Facts, "facts", "YAML file of a state machine's probabilities, items and waits"),
			option(&j.Name, "job", "job of a file of jobs of stages, such as tpch-9-2g").by(jobNames),
			option(&j.ExecutorMB, "executor-mb", "memory of an executor of a job's stages"),
			option(&k.Percent, "percent", "read a state machine's choices that compare a number as percentages"),
			option(&k.Tariff, "tariff",
				"prices of a state machine's functions, or a job's executors: lambda, lambda100 or table",
				variants.Lambda, variants.Lambda100, variants.Table),
			option(&orchestration, "orchestration", "what a state machine's transitions cost: none, standard or express",
				string(bill.None), string(bill.Standard), string(bill.Express)),
			option(&asYAML, "yaml", "print the application's file instead, to start one from"),
		},
		complete: first(among(orFiles, func(*call) []string { return variants.Presets() })),
		run: func(c *call) (any, error) {
			if err := readLoad(&q, load); err != nil {
				return nil, err
			}
			if _, _, err := q.Problem(); err != nil {
				return nil, usage("%w", err)
			}
			if plot != "" {
				if err := whatif.CheckPlot(plot); err != nil {
					return nil, usage("--plot: %w", err)
				}
			}
			k.Orchestration = bill.Orchestration(orchestration)
			m, err := openApp(c.args[0], k, j)
			if err != nil {
				return nil, usage("%w", err)
			}
			if asYAML {
				text, err := configs.DumpApp(m)
				if err == nil {
					_, err = c.out.Write(text)
				}
				return nil, err
			}
			ctx, release := c.stoppable("stopping with the best plan found")
			defer release()
			r, err := whatif.Ask(ctx, m, q, c.stages())
			if errors.Is(err, context.Canceled) {
				return nil, context.Cause(ctx)
			}
			var none *variants.Infeasible
			if errors.As(err, &none) {
				return none, err
			}
			if err != nil {
				return nil, err
			}
			var files []string
			if ctx.Err() == nil {
				if files, err = writeFront(ctx, m, q, r, front, plot); errors.Is(err, context.Canceled) {
					err = context.Cause(ctx)
				}
			}
			fmt.Fprint(c, whatif.Text(r))
			for _, f := range files {
				fmt.Fprintf(c, "wrote %s\n", f)
			}
			return r, errors.Join(err, context.Cause(ctx))
		},
	}
}

// jobNames completes by the jobs of the file that is named on the line.
func jobNames(c *call, _ string) ([]string, cobra.ShellCompDirective) {
	if len(c.args) == 0 {
		return nil, onlyThem
	}
	list, err := configs.JobNames(c.args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return list, onlyThem
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
