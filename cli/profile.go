package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/eval/profiles"
)

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
			option(whole{&q.Few, 0}, "few", "memory sizes to fit to, spread evenly (0 is all); errors are over all"),
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
			option(whole{&o.Simulated, 100}, "simulate", "requests to simulate"),
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
			option(whole{&o.Parrotfish.Samples, 1}, "samples", "runs at each size at first (4 in Parrotfish's code)"),
			option(whole{&o.Seeds, 2}, "seeds", "times that each function is profiled"),
			option(whole{&o.Points, 4}, "sizes", "most memory sizes that are bought"),
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
