package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/eval"
)

func plotCommand() *command {
	p := eval.RunPlot{Metrics: []string{"rollout/ep_rew_mean"}, Average: eval.AverageIQM, Band: eval.BandInterval,
		Name: "learning_curve"}
	x := "steps"
	return &command{
		name: "plot", takes: "EVALUATION|RUN…", args: arguments{1, -1, "EVALUATION or RUN"},
		json: "print the files' names as JSON", out: "folder of the figure and its data", outIs: ".",
		flags: []flag{
			option(&p.Metrics, "metric", "tags to draw, a panel each (repeatable, or with commas)"),
			option(&x, "x", "horizontal axis: steps of the environment, or time of training", "steps", "time"),
			option(&p.Smooth, "smooth", "factor of an exponential moving average, 0 (none) to below 1, as TensorBoard's"),
			option(&p.Average, "average", "over the runs of a line: iqm or mean", eval.AverageIQM, eval.AverageMean),
			option(&p.Band, "band",
				"around a line of several runs: interval (95 %, from 4 runs; the range of fewer), range or none",
				eval.BandInterval, eval.BandRange, eval.BandNone),
			option(&p.Separate, "separate", "draw every run as its own line"),
			option(&p.Labels, "label", "names of the lines, in the order of their first runs"),
			option(&p.Title, "title", "title of the figure"),
			option(&p.Log, "log", "logarithmic vertical axes"),
			option(&p.Name, "name", "name of the files, without an extension"),
		},
		run: func(c *call) (any, error) {
			switch x {
			case "steps":
			case "time":
				p.Time = true
			default:
				return nil, usage("--x is %q, want steps or time", x)
			}
			p.Runs, p.Catalog, p.Out = c.args, c.Catalog, c.folder
			drawn, err := draw(c, p)
			if err != nil {
				return nil, err
			}
			for _, n := range drawn.Notes {
				if !c.json {
					fmt.Fprintln(c.errs, n)
				}
			}
			for _, f := range drawn.Files {
				fmt.Fprintln(c, f)
			}
			return drawn.Files, nil
		},
	}
}

// runFlags are the flags that an evaluation's figures have no use for.
var runFlags = []string{"metric", "x", "smooth", "average", "band", "separate", "label", "title", "log", "out", "name"}

// draw draws an evaluation's figures, or the curves of runs.
func draw(c *call, p eval.RunPlot) (*eval.Plotted, error) {
	if _, err := os.Stat(filepath.Join(p.Runs[0], eval.SummaryFile)); err != nil || len(p.Runs) > 1 {
		for _, path := range p.Runs {
			if _, err := os.Stat(filepath.Join(path, eval.SummaryFile)); err == nil {
				return nil, usage("%s is an evaluation: draw its figures alone with: stoker plot %s", path, quote(path))
			}
		}
		return eval.PlotRuns(p)
	}
	why := "is for runs; " + p.Runs[0] + " is an evaluation, whose figures are drawn without it"
	if err := c.without(why, runFlags...); err != nil {
		return nil, err
	}
	s, err := eval.Replot(p.Runs[0])
	if err != nil {
		return nil, err
	}
	out := &eval.Plotted{}
	for _, f := range s.Figures {
		out.Files = append(out.Files, filepath.Join(p.Runs[0], f))
	}
	return out, nil
}
