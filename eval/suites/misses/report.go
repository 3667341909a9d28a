package misses

import (
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/atmiss"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// report adds what was read from the curves.
func report(r *suite.Report, world string, factor float64, res *atmiss.Result) {
	at := fmt.Sprintf("%s, SLO %g × the fastest", world, factor)
	for _, x := range res.Readings {
		level := fmt.Sprintf("%g %% missed", 100*x.Level)
		if !table.Finite(x.Cost.Point) {
			r.Row(suite.Row{Figure: at, Quantity: "cost of " + x.Method + " at " + level, Unit: "1",
				Note: "every setting is late more often"})
			continue
		}
		row := func(quantity, unit string, factor float64, low, point, high float64) {
			r.Row(suite.Row{Figure: at, Quantity: quantity, Unit: unit, Ours: eval.Number(factor * point),
				Lo: eval.Number(factor * low), Hi: eval.Number(factor * high), Note: unread(x)})
		}
		row("cost of "+x.Method+" at "+level, "1", 1, x.Cost.Low, x.Cost.Point, x.Cost.High)
		if x.Method != res.Reference && table.Finite(x.Below.Point) {
			row(x.Method+" below "+res.Reference+" at "+level, "%", 100, x.Below.Low, x.Below.Point, x.Below.High)
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

// figure draws the curves of a world, a panel for each limit.
type figure struct {
	world string
	chart *chart.Figure
	rows  [][]any
}

func newFigure(world string) *figure {
	return &figure{world: world, chart: &chart.Figure{Title: "Cost against late requests: " + world,
		Under:   "each method at each setting, 95 % intervals; below and to the left is better",
		Columns: 2, Width: 4.2 * vg.Inch, Height: 3 * vg.Inch}}
}

// least is the smallest share of late requests that the figures show; what is late more seldom stands there.
const least = 1e-3

// add adds a panel.
func (f *figure) add(factor float64, res *atmiss.Result) {
	p := chart.NewPanel(fmt.Sprintf("SLO %g × the fastest", factor), "late requests (share)", "cost over the plan's")
	p.LogX()
	p.RangeX(least, 0.5)
	p.RangeY(0.9, 1.6)
	method, style := "", -1
	var x, y []float64
	draw := func() {
		if len(x) > 0 {
			p.Line(chart.Styles(style), x, y, false)
		}
		x, y = x[:0], y[:0]
	}
	for _, o := range res.Outcomes {
		if o.Method != method {
			draw()
			method = o.Method
			style++
			if len(f.chart.Panels) == 0 {
				f.chart.Key = append(f.chart.Key, chart.Entry{Text: method, Style: chart.Styles(style), Line: true, Dot: true})
			}
		}
		f.rows = append(f.rows, []any{factor, o.Method, o.Setting, o.Value, table.Of(o.Missed), table.Of(o.Cost)})
		if o.Cost.Point > 2.5 || o.Missed.Point > 0.5 { // far off; the data has it
			draw()
			continue
		}
		at := max(o.Missed.Point, least)
		x, y = append(x, at), append(y, o.Cost.Point)
		p.Cross(chart.Styles(style), chart.Range{At: at, Low: max(o.Missed.Low, least), High: max(o.Missed.High, least)},
			chart.Range{At: o.Cost.Point, Low: o.Cost.Low, High: o.Cost.High})
	}
	draw()
	f.chart.Panels = append(f.chart.Panels, p)
}

// figure returns it with its data.
func (f *figure) figure() suite.Figure {
	return suite.Figure{Name: "curves-" + fileName(f.world),
		Caption: "What each method costs and how many requests are late, at each of its settings: " + f.world,
		Chart:   f.chart, Columns: table.Head("SLO [of the fastest]", "method", "setting", "value", "missed [1]", "cost [1]"),
		Rows: f.rows}
}

// fileName is a world's name without blanks.
func fileName(world string) string {
	out := []byte(world)
	for i, c := range out {
		if c == ' ' {
			out[i] = '-'
		}
	}
	return string(out)
}
