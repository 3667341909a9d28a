package optiserve

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// curvesFigure draws PRCP's curves: each strategy beside the ideal.
func (d *data) curvesFigure() suite.Figure {
	fig := suite.Figure{Name: "prcp", Caption: "PRCP's curves: the exact optimum over each strategy's answer, under 100 constraints. The data has the values.",
		Columns: table.Head("application", "objective", "constraint", "disabled", "rt/m", "ert/c", "max", "ideal")}
	c := &chart.Figure{Title: "PRCP beside the exact optimum", Columns: 4, Width: 6 * vg.Centimeter, Height: 5 * vg.Centimeter,
		Under: "App1 to App4 on measured profiles, 100 constraints each"}
	for i, s := range rules.Strategies()[:4] {
		c.Key = append(c.Key, chart.Entry{Text: string(s), Style: chart.Styles(i), Line: true})
	}
	for _, objective := range []variants.Objective{variants.Time, variants.Cost} {
		for _, k := range d.curves {
			if k.Objective != objective {
				continue
			}
			x := "budget (USD per million)"
			if objective == variants.Cost {
				x = "time at most (s)"
			}
			p := chart.NewPanel(fmt.Sprintf("%s, least %s", k.App, objective), x, "ideal / answer (%)")
			at := make([]float64, len(k.Rows))
			var share [4][]float64
			for j, row := range k.Rows {
				at[j] = row.Constraint
				for s, v := range row.Value {
					share[s] = append(share[s], 100*row.Ideal/v)
				}
				fig.Rows = append(fig.Rows, []any{k.App, string(objective), row.Constraint, row.Value[0], row.Value[1],
					row.Value[2], row.Value[3], row.Ideal})
			}
			for s := range slices.Backward(share[:]) { // the first strategy lies on top
				p.Line(chart.Styles(s), at, share[s], false)
			}
			p.RangeY(0, 103)
			c.Panels = append(c.Panels, p)
		}
	}
	fig.Chart = c
	return fig
}

// lawsFigure is Fig. 3.1: measured times and laws.
func (d *data) lawsFigure() suite.Figure {
	fig := suite.Figure{Name: "fig31", Caption: "Measured mean times of six functions over memory, the law that errs least at " +
		"sizes left out, and the published exponential law.",
		Columns: table.Head("function", "memory [MB]", "mean [s]", "sd [s]", "chosen law [s]", "exponential [s]")}
	c := &chart.Figure{Title: "Execution time over memory", Columns: 3, Width: 6.4 * vg.Centimeter, Height: 5 * vg.Centimeter,
		Under: "dots: mean of 100 runs and one standard deviation of a run",
		Key: []chart.Entry{{Text: "measured", Style: chart.Common(), Dot: true}, {Text: "chosen law", Style: chart.Styles(0), Line: true},
			{Text: "exponential, plain least squares", Style: chart.Styles(1), Line: true}}}
	for _, f := range d.fit.Functions {
		p := chart.NewPanel(fmt.Sprintf("%s: %s, error %.1f %% (exponential %.1f %%)", f.Name, f.Laws[0].Form, 100*f.Laws[0].MAPE,
			100*f.Published.MAPE), "memory (MB)", "time (s)")
		p.LogX()
		p.LogY()
		var x, law, other []float64
		for _, s := range f.Sizes {
			x, law, other = append(x, s.MB), append(law, s.Predicted), append(other, s.Published)
			p.Cross(chart.Common(), chart.Exactly(s.MB), chart.Range{At: s.Mean, Low: max(s.Mean/2, s.Mean-s.SD), High: s.Mean + s.SD})
			fig.Rows = append(fig.Rows, []any{f.Name, s.MB, s.Mean, s.SD, s.Predicted, s.Published})
		}
		p.Line(chart.Styles(1), x, other, false)
		p.Line(chart.Styles(0), x, law, false)
		c.Panels = append(c.Panels, p)
	}
	fig.Chart = c
	return fig
}

// errorsFigure is Fig. 5.1: the distribution of the relative errors of times and costs.
func (d *data) errorsFigure() suite.Figure {
	fig := suite.Figure{Name: "fig51", Caption: "Distribution of the relative errors of mean times and of prices of runs over six " +
		"functions and 46 sizes.", Columns: table.Head("quantity", "law", "error [%]", "share")}
	c := &chart.Figure{Title: "Errors of the laws", Columns: 2, Width: 7.5 * vg.Centimeter, Height: 6.5 * vg.Centimeter,
		Under: "lines: the thesis' 80th percentile of about 10 %"}
	laws := [2]string{"law chosen at sizes left out", "exponential, plain least squares"}
	for i, name := range laws {
		c.Key = append(c.Key, chart.Entry{Text: name, Style: chart.Styles(i), Line: true})
	}
	for _, q := range []struct {
		name string
		of   *[2][]float64
	}{{"mean time", &d.times}, {"price of a run", &d.costs}} {
		p := chart.NewPanel("", "relative error of the "+q.name+" (%)", "share of sizes and functions")
		for i, law := range laws {
			x, y := []float64{0}, []float64{0}
			for j, v := range q.of[i] {
				x, y = append(x, v), append(y, float64(j+1)/float64(len(q.of[i])))
				fig.Rows = append(fig.Rows, []any{q.name, law, v, y[j+1]})
			}
			p.Line(chart.Styles(i), x, y, true)
		}
		p.RangeY(0, 1)
		p.LevelX(10)
		p.LevelY(0.8)
		c.Panels = append(c.Panels, p)
	}
	fig.Chart = c
	return fig
}
