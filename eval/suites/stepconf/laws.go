package stepconf

import (
	"context"
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/rng"
)

// Of Figs. 5 and 6: an instance with so many jobs, each point the mean of so many runs.
const (
	lawJobs = 24
	lawRuns = 10
)

// laws are the curves of Figs. 5 and 6: seconds over memory, by curve, size and seed.
type laws struct {
	processes, ratios []float64 // the curves of Fig. 5 and of Fig. 6
	fig5, fig6        [][][]float64
}

func measureLaws(ctx context.Context, o *suite.Options) (*laws, error) {
	l := &laws{processes: []float64{1, 2, 4, 6}, ratios: []float64{0, 0.5, 0.75, 1}}
	l.fig5, l.fig6 = curves(len(l.processes), len(o.Seeds)), curves(len(l.ratios), len(o.Seeds))
	err := o.Each(ctx, "laws", len(o.Seeds), func(s int) error {
		key := rng.New(o.Seeds[s], "stepconf/laws")
		for m, mb := range sizes {
			for c, q := range l.processes {
				l.fig5[c][m][s] = single.measured(lawJobs, mb, q, lawRuns, key.With(0))
			}
			for c, ratio := range l.ratios {
				p := single
				p.share = ratio
				l.fig6[c][m][s] = p.measured(lawJobs, mb, 1, lawRuns, key.With(1))
			}
		}
		return nil
	})
	return l, err
}

// curves are n curves over the sizes with a value for each seed.
func curves(n, seeds int) [][][]float64 {
	out := make([][][]float64, n)
	for c := range out {
		out[c] = make([][]float64, len(sizes))
		for m := range out[c] {
			out[c][m] = make([]float64, seeds)
		}
	}
	return out
}

// ratio is one size's time over another's, by seed.
func ratio(curve [][]float64, over, under int) []float64 {
	out := make([]float64, len(curve[over]))
	for s := range out {
		out[s] = curve[over][s] / curve[under][s]
	}
	return out
}

// oneCore is the index of the size that gives one core.
const oneCore = 2

func (l *laws) report(r *suite.Report) {
	last := len(sizes) - 1
	one := 1.0
	measured(r, suite.Row{Figure: "5", Quantity: "one process: seconds with 10,240 MB over 1,769 MB", Unit: "1", Paper: &one,
		Note: "a flat line in the paper"}, ratio(l.fig5[0], last, oneCore))
	measured(r, suite.Row{Figure: "5", Quantity: "six processes: seconds with 10,240 MB over 1,769 MB", Unit: "1"},
		ratio(l.fig5[3], last, oneCore))
	measured(r, suite.Row{Figure: "6", Quantity: "no multi-core code: seconds with 10,240 MB over 1,769 MB", Unit: "1", Paper: &one,
		Note: "a flat line in the paper"}, ratio(l.fig6[0], last, oneCore))
	measured(r, suite.Row{Figure: "6", Quantity: "all multi-core code: seconds with 10,240 MB over 1,769 MB", Unit: "1",
		Note: "in proportion to memory it is 0.173"}, ratio(l.fig6[3], last, oneCore))
	r.Figure(lawFigure(r, "fig5", "Code of one core: seconds of an instance over its memory, by processes. Beyond 1,769 MB only more "+
		"processes help.", "processes", l.processes, l.fig5))
	r.Figure(lawFigure(r, "fig6", "One process: seconds of an instance over its memory, by the share of its jobs that use all "+
		"cores.", "share of multi-core jobs", l.ratios, l.fig6))
}

func lawFigure(r *suite.Report, name, caption, what string, values []float64, curves [][][]float64) suite.Figure {
	fig := suite.Figure{Name: name, Caption: caption, Columns: table.Head(what, "memory [MB]", "time [s]", "low [s]", "high [s]")}
	p := chart.NewPanel("", "memory (MB)", "time of an instance (s)")
	p.LogY()
	c := &chart.Figure{Title: "Time over memory", Panels: []*chart.Panel{p}, Columns: 1, Width: 11 * vg.Centimeter,
		Height: 7.5 * vg.Centimeter, Under: fmt.Sprintf("%d jobs, means of %d runs; bands: 95 %% over seeds; dotted: one core", lawJobs,
			lawRuns)}
	for i, v := range values {
		var e []table.Estimate
		for m, mb := range sizes {
			x := estimate(r, curves[i][m])
			e = append(e, x)
			fig.Rows = append(fig.Rows, []any{v, mb, x.At, x.Low, x.High})
		}
		suite.Line(p, chart.Styles(i), sizes, e)
		c.Key = append(c.Key, chart.Entry{Text: fmt.Sprintf("%s: %g", what, v), Style: chart.Styles(i), Line: true})
	}
	p.LevelX(memory.SingleCore)
	fig.Chart = c
	return fig
}
