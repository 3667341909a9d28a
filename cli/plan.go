package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/profiles"
	"github.com/stoker-rl/stoker/eval/traces"
	"github.com/stoker-rl/stoker/eval/whatif"
)

func traceCommand() *command {
	var s traces.Source
	var env string
	target, stretch := 0.7, 0
	return &command{
		name: "trace", takes: "[FOLDER|FILE]", args: arguments{most: 1},
		json: "print as JSON", out: "folder for the figure and its data",
		flags: []flag{
			option(&env, "env", "environment to scale the trace to, as in stoker/Sizing-v2").
				by(among(onlyThem, func(c *call) []string { return traces.Loaded(c.Catalog) })),
			option(&target, "target-utilisation", "mean load over what the environment serves, with --env"),
			option(whole(&s.Sample, 1), "sample", "N of In-Vitro's files N_inv.csv, where the folder holds several"),
			option(wholes(&s.Days), "days", "days of the publisher's files, as in 1,2 (default: all that are there)"),
			option(whole(&stretch, 9), "stretch",
				"find so many minutes of the evaluation part with a calm, a swinging and a bursting third (FaaSConf has 85)"),
		},
		run: func(c *call) (any, error) {
			if len(c.args) == 1 {
				s.Path = c.args[0]
			}
			if c.given("target-utilisation") && env == "" {
				return nil, usage("--target-utilisation is one of an environment: name it with --env")
			}
			s.Progress = c.count("days")
			r, err := traces.Read(s)
			if err != nil {
				return nil, usage("%w", err)
			}
			if env != "" {
				if err := r.ScaleFor(c.Catalog, s, env, target); err != nil {
					return nil, usage("%w", err)
				}
			}
			if stretch > 0 {
				if err := r.FindStretch(stretch); err != nil {
					return nil, usage("--stretch: %w", err)
				}
			}
			err = c.save(func(folder string) ([]string, error) {
				err := traces.Write(folder, r)
				return r.Figures, err
			})
			if err != nil {
				return nil, err
			}
			fmt.Fprint(c, traces.Text(r))
			return r, nil
		},
	}
}

func whatifCommand() *command {
	var q whatif.Request
	k, j := configs.Machine{Tariff: variants.Lambda}, configs.Job{ExecutorMB: 1024}
	var front, plot, load string
	var asYAML bool
	orchestration := string(bill.Standard)
	return &command{
		name: "whatif", takes: "APP", args: arguments{1, 1, "an application's file, or app1 to app6,"},
		stop: "stopping with the best plan found",
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
			if load != "" {
				l, err := configs.ReadLoad(load)
				if err != nil {
					return nil, usage("--load: %w", err)
				}
				q.Load = &l
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
				if c.given("json") {
					return nil, usage("--yaml prints the application's file, --json the answer: give one of them")
				}
				text, err := configs.DumpApp(m)
				if err == nil {
					_, err = c.out.Write(text)
				}
				return nil, err
			}
			r, err := whatif.Ask(c.ctx, m, q, c.stages())
			if errors.Is(err, context.Canceled) {
				return nil, context.Cause(c.ctx)
			}
			var none *variants.Infeasible
			if errors.As(err, &none) {
				return none, err
			}
			if err != nil {
				return nil, err
			}
			var files []string
			if c.ctx.Err() == nil {
				if files, err = writeFront(c.ctx, m, q, r, front, plot); errors.Is(err, context.Canceled) {
					err = context.Cause(c.ctx)
				}
			}
			fmt.Fprint(c, whatif.Text(r))
			for _, f := range files {
				fmt.Fprintf(c, "wrote %s\n", f)
			}
			return r, errors.Join(err, context.Cause(c.ctx))
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

func profileCommand() *command {
	return &command{
		name: "profile",
		run:  func(c *call) (any, error) { return nil, c.command.Help() },
		sub:  []*command{profileFitCommand(), profileCheckCommand(), profileReplayCommand()},
	}
}

func profileFitCommand() *command {
	q := profiles.Default()
	return &command{
		name: "profile fit", takes: "FILE", args: arguments{1, 1, "a CSV file of measurements"},
		json: "print profile.json", out: "folder for tables and figures",
		flags: []flag{
			option(&q.Law, "law", "a law, or auto for the one that errs least at sizes left out", profiles.Laws()...),
			option(whole(&q.Few, 0), "few", "memory sizes to fit to, spread evenly (0 is all); errors are over all"),
			option(&q.Options.Plain, "plain", "least squares of errors in seconds in place of relative ones"),
			option(&q.Options.SingleCore, "single-core", "memory in MB that gives a whole core (StepConf's m_s)"),
			option(&q.Options.Cores, "cores",
				"cores that the code can use (StepConf's q; 0 is what the largest size gives)"),
		},
		run: func(c *call) (any, error) {
			if err := q.Validate(); err != nil {
				return nil, usage("%w", err)
			}
			f, err := os.Open(c.args[0])
			if err != nil {
				return nil, usage("%w", err)
			}
			defer f.Close()
			b := bufio.NewReader(f)
			kind, err := profiles.KindOf(b)
			if err != nil {
				return nil, usage("%s: %w", c.args[0], err)
			}
			if kind != profiles.RunRows {
				why := fmt.Sprintf("is for runs over memory sizes, and %s has %s", c.args[0], kind)
				if err := c.without(why, "law", "few", "plain", "single-core", "cores"); err != nil {
					return nil, err
				}
				r, err := profiles.FitLaws(b, filepath.Base(c.args[0]))
				if err != nil {
					return nil, usage("%s: %w", c.args[0], err)
				}
				return shown(c, r, profiles.LawsText, profiles.WriteLaws)
			}
			r, err := profiles.Fit(b, q)
			if err != nil {
				return nil, usage("%s: %w", c.args[0], err)
			}
			return shown(c, r, profiles.Text, profiles.Write)
		},
	}
}

// shown leaves a result's files where a folder is named, and shows the result.
func shown[R any](c *call, r R, text func(R) string, write func(folder string, r R) ([]string, error)) (any, error) {
	if err := c.save(func(folder string) ([]string, error) { return write(folder, r) }); err != nil {
		return nil, err
	}
	fmt.Fprint(c, text(r))
	return r, nil
}

func profileCheckCommand() *command {
	source, o := profiles.DefaultSource(), profiles.DefaultCheck()
	m := &source.Machine
	costs, orchestration := "", string(m.Orchestration)
	return &command{
		name: "profile check", takes: "MODEL RUNS", args: arguments{2, 2, "a model and a CSV file of requests"},
		json: "print the comparison as JSON", out: "folder for tables and figure",
		flags: []flag{
			option(&costs, "cost", "CSV file of the requests' costs, where RUNS has none"),
			option(&source.Choices, "choice", "the option that ran, function=MB or function=variant@MB"),
			option(&m.Functions, "profiles", "CSV file of a state machine's functions: memory sizes and times"),
			option(&m.Facts, "facts", "YAML file of a state machine's probabilities, items and waits"),
			option(&m.Percent, "percent",
				"read choices that compare a number as percentages: it is drawn evenly from 0 to 100"),
			option(&m.Tariff, "tariff", "prices of a state machine's functions: lambda, lambda100 or table",
				profiles.Tariffs()...),
			option(&orchestration, "orchestration", "who moves a state machine's requests: none, standard or express",
				string(bill.None), string(bill.Standard), string(bill.Express)),
			option(&m.Delays.Node, "delay-node", "seconds that a state machine adds for each run of a node"),
			option(&m.Delays.Edge, "delay-edge", "seconds that it adds for each edge"),
			option(&o.Estimate, "estimate-delay", "take the delay from every second request, and judge on the others"),
			option(whole(&o.Simulated, 100), "simulate", "requests to simulate"),
			option(&o.Seed, "seed", "seed of the simulated requests"),
		},
		run: func(c *call) (any, error) {
			m.Orchestration = bill.Orchestration(orchestration)
			s, err := profiles.Open(c.args[0], source)
			if err != nil {
				return nil, usage("%w", err)
			}
			requests, err := profiles.OpenRequests(c.args[1], costs)
			if err != nil {
				return nil, usage("%w", err)
			}
			r, err := profiles.Check(s, requests, o)
			if err != nil {
				return nil, usage("%w", err)
			}
			return shown(c, r, profiles.CheckText, profiles.WriteCheck)
		},
	}
}

func profileReplayCommand() *command {
	o := profiles.DefaultReplay()
	return &command{
		name: "profile replay", takes: "FILE", args: arguments{1, 1, "a CSV file of runs"},
		json: "print the errors as JSON", out: "folder for table and figure",
		flags: []flag{
			option(whole(&o.Parrotfish.Samples, 1), "samples", "runs at each size at first (4 in Parrotfish's code)"),
			option(whole(&o.Seeds, 2), "seeds", "times that each function is profiled"),
			option(whole(&o.Points, 4), "sizes", "most memory sizes that are bought"),
		},
		run: func(c *call) (any, error) {
			f, err := os.Open(c.args[0])
			if err != nil {
				return nil, usage("%w", err)
			}
			defer f.Close()
			r, err := profiles.Replay(f, o)
			if err != nil {
				return nil, usage("%s: %w", c.args[0], err)
			}
			return shown(c, r, profiles.ReplayText, profiles.WriteReplay)
		},
	}
}
