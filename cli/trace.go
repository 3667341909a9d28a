package cli

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/traces"
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
			option(whole{&s.Sample, 1}, "sample", "N of In-Vitro's files N_inv.csv, where the folder holds several"),
			option(wholes{&s.Days}, "days", "days of the publisher's files, as in 1,2 (default: all that are there)"),
			option(whole{&stretch, 9}, "stretch",
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
