package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval"
)

func plotCommand() *cobra.Command {
	var p eval.RunPlot
	var x string
	var asJSON bool
	c := &cobra.Command{
		Use:   "plot EVALUATION|RUN…",
		Short: "Compare the learning curves of runs, or draw an evaluation's figures again",
		Long: `Draw metrics of runs over training, or the figures of an evaluation's folder again from its data.

Runs with the same configuration except the seed are one line, named by the configuration and by the keys in which lines
differ, as in "attmf actor_rate=1e-4"; --label gives other names. A line is the IQM over their seeds with its 95 % interval
(with fewer than four runs the mean and their range; the interval is Tukey and McLaughlin's). Values of runs that log at
different steps are interpolated; a line ends where its shortest run ends. Runs are folders or quoted patterns of them.
--metric takes every tag of metrics.jsonl and timing.jsonl; a wrong one lists the tags.

NAME.png, NAME.svg and NAME.pdf are the figure, NAME.csv every run's values, NAME_bands.csv the lines as drawn.`,
		Example: `  stoker plot runs/sizing-s1/eval                                      # an evaluation's figures again
  stoker plot 'runs/sizing-*' --out curves/                                  # every method, its seeds as a band
  stoker plot 'runs/sizing-*' --metric eval/price,eval/violated              # a panel each
  stoker plot runs/a-s1 runs/b-s1 --metric train/critic_loss --smooth 0.9 --log
  stoker plot runs/a-s1 runs/b-s1 --x time --label 'batch 64,batch 128'
  stoker plot 'runs/a-s*' --separate                                         # every run its own line`,
		Args: args(1, -1, "EVALUATION or RUN"),
		RunE: func(c *cobra.Command, a []string) error {
			switch x {
			case "steps":
			case "time":
				p.Time = true
			default:
				return usage("--x is %q, want steps or time", x)
			}
			p.Runs, p.Catalog = a, names(c)
			drawn, err := draw(c, p)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), drawn.Files)
			}
			for _, n := range drawn.Notes {
				fmt.Fprintln(c.ErrOrStderr(), n)
			}
			for _, f := range drawn.Files {
				fmt.Fprintln(c.OutOrStdout(), f)
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.StringSliceVar(&p.Metrics, "metric", []string{"rollout/ep_rew_mean"},
		"tags to draw, a panel each (repeatable, or with commas)")
	fl.StringVar(&x, "x", "steps", "horizontal axis: steps of the environment, or time of training")
	fl.Float64Var(&p.Smooth, "smooth", 0,
		"factor of an exponential moving average, 0 (none) to below 1, as TensorBoard's")
	fl.StringVar(&p.Average, "average", eval.AverageIQM, "over the runs of a line: iqm or mean")
	fl.StringVar(&p.Band, "band", eval.BandInterval, "around a line of several runs: interval (95 %, from 4 runs; the range of fewer), range or none")
	fl.BoolVar(&p.Separate, "separate", false, "draw every run as its own line")
	fl.StringSliceVar(&p.Labels, "label", nil, "names of the lines, in the order of their first runs")
	fl.StringVar(&p.Title, "title", "", "title of the figure")
	fl.BoolVar(&p.Log, "log", false, "logarithmic vertical axes")
	fl.StringVar(&p.Out, "out", ".", "folder of the figure and its data")
	fl.StringVar(&p.Name, "name", "learning_curve", "name of the files, without an extension")
	fl.BoolVar(&asJSON, "json", false, "print the files' names as JSON")
	completeWords(c, "x", "steps", "time")
	completeWords(c, "average", eval.AverageIQM, eval.AverageMean)
	completeWords(c, "band", eval.BandInterval, eval.BandRange, eval.BandNone)
	return c
}

// runFlags are the flags that an evaluation's figures have no use for.
var runFlags = []string{"metric", "x", "smooth", "average", "band", "separate", "label", "title", "log", "out", "name"}

// draw draws an evaluation's figures, or the curves of runs.
func draw(c *cobra.Command, p eval.RunPlot) (*eval.Plotted, error) {
	if _, err := os.Stat(filepath.Join(p.Runs[0], eval.SummaryFile)); err != nil || len(p.Runs) > 1 {
		for _, path := range p.Runs {
			if _, err := os.Stat(filepath.Join(path, eval.SummaryFile)); err == nil {
				return nil, usage("%s is an evaluation: draw its figures alone with: stoker plot %s", path, quote(path))
			}
		}
		return eval.PlotRuns(p)
	}
	for _, name := range runFlags {
		if c.Flags().Changed(name) {
			return nil, usage("--%s is for runs; %s is an evaluation, whose figures are drawn without it", name,
				p.Runs[0])
		}
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
