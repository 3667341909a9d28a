package stepconf

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// shown are the deciders of Fig. 18, in the order of their styles.
func shown() []string {
	return []string{"StepConf", named("Vanilla", fixed[0]), named("Orion", fixed[0]), named("COSE", fixed[0]), "Oracle", "replan"}
}

// quantilesOf are the 5th, 50th and 95th percentile of time over the limit, of the requests of all seeds.
func (w *sweep) quantilesOf(workflow, decider, factor int) (low, mid, high float64) {
	var all []float64
	for s := range w.seeds {
		all = append(all, w.all[workflow][decider][factor][s].over...)
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[min(len(all)-1, int(q*float64(len(all))))] }
	return at(0.05), at(0.5), at(0.95)
}

// spreadOf is the width between the 5th and the 95th percentile of time over the limit, by seed.
func spreadOf(s *summary) float64 {
	all := slices.Sorted(slices.Values(s.over))
	return all[min(len(all)-1, int(0.95*float64(len(all))))] - all[int(0.05*float64(len(all)))]
}

// reportLimits has Fig. 18: how near to the limit requests end.
func (w *sweep) reportLimits(r *suite.Report) {
	for k := range w.models {
		for _, factor := range four {
			d, f := find(w.deciders, "StepConf"), place(factor)
			measured(r, suite.Row{Figure: "18, " + w.worlds[k].String(), Quantity: fmt.Sprintf("StepConf, limit %g × the fastest: later than the "+
				"limit", factor), Unit: "%", Note: "the paper: mostly below the limit"}, w.by(k, d, f, missed))
		}
	}
	fig := suite.Figure{Name: "fig18", Caption: "Time of a request over its limit: median, and 5th to 95th percentile, under four limits. " +
		"The dotted line is the limit.", Columns: table.Head("workflow", "limit / fastest", "decider", "p5", "median", "p95", "missed [%]")}
	c := &chart.Figure{Title: "End-to-end time under four limits", Columns: 3, Width: 7.5 * vg.Centimeter, Height: 6.5 * vg.Centimeter,
		Under: fmt.Sprintf("%d requests of each of %d seeds; bars: 5th to 95th percentile", w.requests, w.seeds)}
	for i, name := range shown() {
		c.Key = append(c.Key, chart.Entry{Text: name, Style: chart.Styles(i), Dot: true})
	}
	for k, m := range w.models {
		p := chart.NewPanel(fmt.Sprintf("%s (fastest %.3g s)", w.worlds[k].String(), m.Fastest), "limit, as a factor on the fastest time",
			"time / limit")
		for _, factor := range four {
			f := place(factor)
			for i, name := range shown() {
				d := find(w.deciders, name)
				low, mid, high := w.quantilesOf(k, d, f)
				p.Cross(chart.Styles(i), chart.Exactly(factor+0.05*(float64(i)-2.5)), chart.Range{At: mid, Low: low, High: high})
				fig.Rows = append(fig.Rows, []any{w.worlds[k].String(), factor, name, low, mid, high, w.estimate(r, k, d, f, missed).At})
			}
		}
		p.LevelY(1)
		c.Panels = append(c.Panels, p)
	}
	fig.Chart = c
	r.Figure(fig)
}

// alone are StepConf and what has one kind of parallelism alone (Fig. 20).
func alone() []string {
	names := []string{"StepConf", "StepConf-Inter"}
	for _, p := range fixed {
		names = append(names, named("StepConf-Intra", p))
	}
	return names
}

// over is a decider's cost over StepConf's, by seed.
func (w *sweep) over(workflow, decider, factor int) []float64 {
	out, base := make([]float64, w.seeds), find(w.deciders, "StepConf")
	for s := range out {
		out[s] = w.all[workflow][decider][factor][s].usd / w.all[workflow][base][factor][s].usd
	}
	return out
}

// reportParallelism has Fig. 20: what each kind of parallelism does alone.
func (w *sweep) reportParallelism(r *suite.Report) {
	base, f := find(w.deciders, "StepConf"), place(2)
	for k := range w.models {
		for _, name := range alone()[1:3] {
			d := find(w.deciders, name)
			measured(r, suite.Row{Figure: "20, " + w.worlds[k].String(), Quantity: name + ", limit 2 ×: cost over StepConf's", Unit: "1",
				Note: fmt.Sprintf("%s %% missed, StepConf %s %%", w.estimate(r, k, d, f, missed), w.estimate(r, k, base, f, missed))},
				w.over(k, d, f))
		}
	}
	r.Figure(w.costFigure(r, "fig20", "Cost with one kind of parallelism alone", "Mean cost and missed limits of StepConf, of one "+
		"process an instance (Inter) and of a fixed number of instances (Intra).", alone()))
}

// costFigure draws mean cost over the limit, and below it the share of missed limits.
func (w *sweep) costFigure(r *suite.Report, name, title, caption string, names []string) suite.Figure {
	fig := suite.Figure{Name: name, Caption: caption, Columns: table.Head("workflow", "limit / fastest", "decider",
		"cost [USD per thousand]", "low", "high", "missed [%]", "missed low", "missed high")}
	c := &chart.Figure{Title: title, Columns: len(workflows), Width: 7.5 * vg.Centimeter, Height: 5.5 * vg.Centimeter,
		Under: fmt.Sprintf("means over %d requests of each of %d seeds; bands: 95 %% over seeds", w.requests, w.seeds)}
	for i, n := range names {
		c.Key = append(c.Key, chart.Entry{Text: n, Style: chart.Styles(i), Line: true})
	}
	var below []*chart.Panel
	for k := range w.models {
		top := chart.NewPanel(w.worlds[k].String(), "limit / fastest time", "cost (USD per thousand)")
		under := chart.NewPanel("", "limit / fastest time", "missed (%)")
		top.LogX()
		top.LogY()
		under.LogX()
		for i, n := range names {
			d := find(w.deciders, n)
			var cost, late []table.Estimate
			for f, factor := range factors {
				cost = append(cost, w.estimate(r, k, d, f, usdPer1000))
				late = append(late, w.estimate(r, k, d, f, missed))
				x, y := cost[f], late[f]
				fig.Rows = append(fig.Rows, []any{w.worlds[k].String(), factor, n, x.At, x.Low, x.High, y.At, y.Low, y.High})
			}
			suite.Line(top, chart.Styles(i), factors, cost)
			suite.Line(under, chart.Styles(i), factors, late)
		}
		under.RangeY(0, 100)
		c.Panels, below = append(c.Panels, top), append(below, under)
		if len(below) == len(workflows) {
			c.Panels, below = append(c.Panels, below...), nil
		}
	}
	fig.Chart = c
	return fig
}
