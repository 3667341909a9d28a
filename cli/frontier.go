package cli

import (
	"fmt"
	"os"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/pareto"
)

func frontierCommand() *command {
	q := eval.FrontierRequest{Levels: []float64{0.02, 0.05, 0.1}, Resamples: 2000}
	var seeds string
	return &command{
		name: "frontier", takes: "[RUN…]", args: arguments{most: -1},
		json: "print frontier.json", out: "folder for the result", noOut: "a folder for the result",
		flags: []flag{
			option(&q.Dial, "dial", "values of env.reward.dial under which learned policies play, as in 0.5,1,2,4"),
			option(repeated{&q.Rivals}, "rival",
				"a rival, or a key of it and values, as in autoscaler.cpu=0.3,0.5 (repeatable)").
				by(among(goesOn, func(c *call) []string { return c.rivals("") })),
			option(&q.Levels, "levels", "shares of violated windows at which prices are compared"),
			option(&q.Config, "config",
				"configuration of environment and workload (default: that of the first checkpoint)"),
			option(seedList{&seeds}, "seeds", "workload seeds, as in 1-20 (default: the configuration's)"),
			option(repeated{&q.Sets}, "set", "set a key of the configuration (repeatable)").by(keys),
			option(whole{&q.Resamples, 100}, "resamples", "bootstrap resamples"),
			workers(&q.Workers),
		},
		run: func(c *call) (any, error) {
			q.Names, q.Paths, q.Workers = c.Catalog, c.args, perCore(q.Workers)
			if err := eval.ParseLevels(q.Levels); err != nil {
				return nil, err
			}
			if seeds != "" {
				q.Sets = append(q.Sets, "eval.seeds="+seeds)
			}
			if err := makeFolder(c.folder); err != nil {
				return nil, err
			}
			ctx, release := c.stoppable("stopping, nothing is written")
			defer release()
			q.Progress = evalProgress(c)
			r, err := eval.RunFrontier(ctx, q)
			if err != nil {
				return nil, err
			}
			r.Command, r.Version, r.Revision = os.Args, Version(), revision()
			err = c.save(func(folder string) ([]string, error) { return pareto.Write(folder, r) })
			if err != nil {
				return nil, err
			}
			fmt.Fprintln(c, pareto.Text(r))
			return r, nil
		},
		sub: []*command{frontierPanelsCommand()},
	}
}

func frontierPanelsCommand() *command {
	columns, limit := 4, 0.5
	return &command{
		name: "frontier panels", takes: "FOLDER…", args: arguments{1, -1, "a folder of stoker frontier"},
		out: "folder for the figure", noOut: "a folder for the figure",
		flags: []flag{
			option(whole{&columns, 1}, "columns", "panels in a row"),
			option(&limit, "up-to", "points with more violations than this are not drawn (the CSV has them)"),
		},
		run: func(c *call) (any, error) {
			if !(limit > 0) {
				return nil, usage("--up-to is %g, want more than 0", limit)
			}
			results, err := pareto.Load(c.args)
			if err != nil {
				return nil, err
			}
			return nil, c.save(func(folder string) ([]string, error) {
				return pareto.WritePanels(folder, results, columns, limit)
			})
		},
	}
}
