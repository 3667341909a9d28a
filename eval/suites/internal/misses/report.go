package misses

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/atmiss"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// rows adds what was read from the curves.
func rows(r *suite.Report, world string, factor float64, res *atmiss.Result) {
	at := fmt.Sprintf("%s, SLO %g × the fastest", world, factor)
	for _, x := range res.Readings {
		level := fmt.Sprintf("%g %% missed", 100*x.Level)
		if !report.Finite(x.Cost.Point) {
			r.Row(suite.Row{Figure: at, Quantity: "cost of " + x.Method + " at " + level, Unit: "1",
				Note: "every setting is late more often"}.With(report.None()))
			continue
		}
		row := func(quantity, unit string, factor float64, i stats.Interval) {
			r.Row(suite.Row{Figure: at, Quantity: quantity, Unit: unit, Note: unread(x)}.With(
				report.Estimate{At: factor * i.Point, Low: factor * i.Low, High: factor * i.High}))
		}
		row("cost of "+x.Method+" at "+level, "1", 1, x.Cost)
		if x.Method != res.Reference && report.Finite(x.Below.Point) {
			row(x.Method+" below "+res.Reference+" at "+level, "%", 100, x.Below)
		}
	}
}

// unread says in how many resamples a cost could not be read.
func unread(x atmiss.Reading) string {
	if x.Unread < 0.025 {
		return ""
	}
	return fmt.Sprintf("in %.0f %% of the resamples one of the two is late more often at every setting", 100*x.Unread)
}

// paper are the methods of the paper, which have a figure of their own; StepConf and its Oracle are in both.
var paper = []string{"stepconf-inter", "stepconf-intra", "vanilla", "orion", "cose"}

// figures draws the curves of a world, a panel for each limit: the paper's methods in one, the planners in another.
type figures [2]*report.Figure

func newFigures(world string) *figures {
	f := &figures{}
	for i, what := range []string{"StepConf and its paper's rivals", "planners"} {
		f[i] = report.NewFigure([]string{"paper-", "planners-"}[i]+strings.ReplaceAll(world, " ", "-"),
			"What each method costs and how many requests are late, at each of its settings: "+world,
			chart.Figure{Title: "Cost against late requests: " + what + ", " + world,
				Under:   "a point for each setting, 95 % intervals; below and to the left is better",
				Columns: 2, Width: 4.2 * vg.Inch, Height: 3.2 * vg.Inch},
			"SLO [of the fastest]", "method", "setting", "value", "missed [1]", "cost [1]")
	}
	return f
}

// The figures show costs up to most; what is late more seldom than in a share of least stands there.
const (
	least = 1e-3
	most  = 2.0
)

// add adds a panel to both.
func (f *figures) add(factor float64, res *atmiss.Result) {
	var methods []string
	for _, o := range res.Outcomes {
		if !slices.Contains(methods, o.Method) {
			methods = append(methods, o.Method)
		}
	}
	for i, part := range f {
		first := len(part.Chart.Panels) == 0
		p := part.Panel(fmt.Sprintf("SLO %g × the fastest", factor), "late requests (share)", "cost over the plan's")
		p.LogX()
		p.RangeX(least, 0.5)
		for style, m := range methods {
			both := m == reference || m == "steps-oracle"
			if !both && slices.Contains(paper, m) != (i == 0) {
				continue
			}
			if first {
				part.Chart.Key = append(part.Chart.Key, chart.Entry{Text: m, Style: chart.Styles(style), Line: true, Dot: true})
			}
			draw(part, p, chart.Styles(style), factor, m, res)
		}
	}
}

// draw draws a method's curve.
func draw(f *report.Figure, p *chart.Panel, s chart.Style, factor float64, method string, res *atmiss.Result) {
	var x []float64
	var y []report.Estimate
	for _, o := range res.Outcomes {
		if o.Method != method {
			continue
		}
		f.Rows = append(f.Rows, []any{factor, o.Method, o.Setting, o.Value, report.Of(o.Missed), report.Of(o.Cost)})
		if o.Cost.Point > most || o.Missed.Point > 0.6 { // far off; the data has it
			continue
		}
		e := report.Of(o.Cost)
		e.High = min(e.High, most)
		x, y = append(x, max(o.Missed.Point, least)), append(y, e)
	}
	report.Line(p, s, x, y)
	for k := range x {
		p.Cross(s, chart.Exactly(x[k]), chart.Exactly(y[k].At))
	}
}
