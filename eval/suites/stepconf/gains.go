package stepconf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// What the paper says of Fig. 19: up to so much against Vanilla, from and to against the other rivals.
const (
	upToFaster, upToCheaper       = 5.6, 40.0
	othersFasterLow, othersFaster = 1.91, 3.3
	othersCheaperLow, othersCheap = 5.0, 22.3
)

// point is a mean time and a mean cost under a limit.
type point struct{ seconds, usd float64 }

// curve is what a decider reaches: its points by ascending cost, without those that are dearer and no faster.
func (w *sweep) curve(workflow, decider, seed int) []point {
	var all []point
	for f := range factors {
		x := &w.all[workflow][decider][f][seed]
		all = append(all, point{x.seconds, x.usd})
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Or(cmp.Compare(a.usd, b.usd), cmp.Compare(a.seconds, b.seconds)) })
	var out []point
	for _, p := range all {
		if len(out) == 0 || p.seconds < out[len(out)-1].seconds {
			out = append(out, p)
		}
	}
	return out
}

// secondsAt is the time of a curve at a cost, straight between points in logarithms; false below its cheapest point.
func secondsAt(c []point, usd float64) (float64, bool) {
	for i, p := range c {
		switch {
		case usd < p.usd && i == 0:
			return 0, false
		case usd < p.usd:
			part := math.Log(usd/c[i-1].usd) / math.Log(p.usd/c[i-1].usd)
			return c[i-1].seconds * math.Pow(p.seconds/c[i-1].seconds, part), true
		}
	}
	return c[len(c)-1].seconds, true
}

// usdAt is the cost of a curve at a time; false below its fastest point.
func usdAt(c []point, seconds float64) (float64, bool) {
	for i := len(c) - 1; i >= 0; i-- {
		p := c[i]
		switch {
		case seconds < p.seconds && i == len(c)-1:
			return 0, false
		case seconds < p.seconds:
			part := math.Log(seconds/c[i+1].seconds) / math.Log(p.seconds/c[i+1].seconds)
			return c[i+1].usd * math.Pow(p.usd/c[i+1].usd, part), true
		}
	}
	return c[0].usd, true
}

// gain is the most that StepConf's curve is better than a rival's points: how many times faster at the rival's cost,
// and how many percent cheaper at the rival's time. By seed.
func (w *sweep) gain(workflow, rival int) (faster, cheaper []float64) {
	for s := range w.seeds {
		own := w.curve(workflow, find(w.deciders, "StepConf"), s)
		var speed, saving float64
		for _, p := range w.curve(workflow, rival, s) {
			if t, ok := secondsAt(own, p.usd); ok {
				speed = max(speed, p.seconds/t)
			}
			if usd, ok := usdAt(own, p.seconds); ok {
				saving = max(saving, 100*(1-usd/p.usd))
			}
		}
		faster, cheaper = append(faster, speed), append(cheaper, saving)
	}
	return faster, cheaper
}

// gainOver is the largest gain over a platform's workflows, by seed.
func (w *sweep) gainOver(rival, platform string) (faster, cheaper []float64) {
	faster, cheaper = make([]float64, w.seeds), make([]float64, w.seeds)
	for k, x := range w.worlds {
		if x.platform != platform {
			continue
		}
		f, c := w.gain(k, find(w.deciders, rival))
		for s := range w.seeds {
			faster[s], cheaper[s] = max(faster[s], f[s]), max(cheaper[s], c[s])
		}
	}
	return faster, cheaper
}

// platforms are those of the worlds.
var platforms = []string{steps.AWS, steps.Knative}

// reportGains has Fig. 19.
func (w *sweep) reportGains(r *suite.Report) {
	t := table.Table{Name: "gains", Title: "StepConf beside rivals that have a fixed number of instances (Fig. 19)",
		Note: "The largest over three workflows and all limits: how many times as fast at a rival's cost, how much cheaper at its " +
			"time. 0 where the rival is nowhere slower or dearer.",
		Columns: table.Head("platform", "rival", "times as fast", "cheaper [%]")}
	for _, platform := range platforms {
		for _, rival := range []string{"Vanilla", "Orion", "COSE"} {
			for i, p := range fixed {
				speed, saving := othersFaster, othersCheap
				note := "the paper: 1.91 to 3.3 times, 5 to 22.3 %, over its other rivals"
				if rival == "Vanilla" {
					speed, saving, note = upToFaster, upToCheaper, "the paper: up to"
				}
				faster, cheaper := w.gainOver(named(rival, p), platform)
				t.Rows = append(t.Rows, []any{platform, named(rival, p), estimate(r, faster), estimate(r, cheaper)})
				if i > 0 && rival != "Vanilla" {
					continue
				}
				measured(r, suite.Row{Figure: "19, " + platform, Quantity: "times as fast at the cost of " + named(rival, p) + ", at most",
					Unit: "1", Paper: &speed, Note: note}, faster)
				measured(r, suite.Row{Figure: "19, " + platform, Quantity: "cheaper at the time of " + named(rival, p) + ", at most",
					Unit: "%", Paper: &saving, Note: note}, cheaper)
			}
		}
	}
	r.Table(t)
	r.Figure(w.gainFigure(r))
}

// gainFigure draws cost over time of everyone.
func (w *sweep) gainFigure(r *suite.Report) suite.Figure {
	fig := suite.Figure{Name: "fig19", Caption: "What time costs: mean cost over mean time of each decider, a point for each limit. Lower " +
		"and further left is better.", Columns: table.Head("workflow", "decider", "limit / fastest", "time [s]", "cost [USD per thousand]")}
	c := &chart.Figure{Title: "Cost and time of the deciders", Columns: len(workflows), Width: 8 * vg.Centimeter,
		Height: 7 * vg.Centimeter, Under: fmt.Sprintf("limits from %g to %g times the fastest time; means over seeds",
			factors[0], factors[len(factors)-1])}
	names := append(shown(), named("Vanilla", fixed[2]))
	for i, n := range names {
		c.Key = append(c.Key, chart.Entry{Text: n, Style: chart.Styles(i), Line: true})
	}
	for k := range w.models {
		p := chart.NewPanel(w.worlds[k].String(), "mean time (s)", "mean cost (USD per thousand)")
		p.LogX()
		p.LogY()
		for i, n := range names {
			var x, y []float64
			for f, factor := range factors {
				at := func(of func(*summary) float64) float64 { return w.estimate(r, k, find(w.deciders, n), f, of).At }
				x, y = append(x, at(seconds)), append(y, at(usdPer1000))
				p.Cross(chart.Styles(i), chart.Exactly(x[f]), chart.Exactly(y[f]))
				fig.Rows = append(fig.Rows, []any{w.worlds[k].String(), n, factor, x[f], y[f]})
			}
			p.Line(chart.Styles(i), x, y, false)
		}
		c.Panels = append(c.Panels, p)
	}
	fig.Chart = c
	return fig
}
