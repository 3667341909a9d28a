package stepconf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
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
		x := &w.all.At(workflow, decider, f)[seed]
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

// usdAt is the cost of a curve at a time, in the same way; false below its fastest point.
func usdAt(c []point, seconds float64) (float64, bool) {
	var turned []point
	for _, p := range slices.Backward(c) {
		turned = append(turned, point{seconds: p.usd, usd: p.seconds})
	}
	return secondsAt(turned, seconds)
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
	t := report.Table{Name: "gains", Title: "StepConf beside rivals that have a fixed number of instances (Fig. 19)",
		Note: "The largest over three workflows and all limits: how many times as fast at a rival's cost, how much cheaper at its " +
			"time. 0 where the rival is nowhere slower or dearer.",
		Columns: report.Head("platform", "rival", "times as fast", "cheaper [%]")}
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
	w.gainFigure(r)
}

// gainFigure draws cost over time of everyone.
func (w *sweep) gainFigure(r *suite.Report) {
	fig := report.NewFigure("fig19", "What time costs: mean cost over mean time of each decider, a point for each limit. Lower "+
		"and further left is better.",
		chart.Figure{Title: "Cost and time of the deciders", Columns: len(workflows), Width: 8 * vg.Centimeter,
			Height: 7 * vg.Centimeter, Under: fmt.Sprintf("limits from %g to %g times the fastest time; means over seeds",
				factors[0], factors[len(factors)-1])},
		"workflow", "decider", "limit / fastest", "time [s]", "cost [USD per thousand]")
	names := append(shown(), named("Vanilla", fixed[2]))
	fig.Key(chart.Entry{Line: true}, names...)
	for k := range w.models {
		p := fig.Panel(w.worlds[k].String(), "mean time (s)", "mean cost (USD per thousand)")
		p.LogX()
		p.LogY()
		for i, n := range names {
			var x, y []float64
			for f, factor := range factors {
				at := func(of func(*summary) float64) float64 { return w.estimate(r, k, find(w.deciders, n), f, of).At }
				x, y = append(x, at(seconds)), append(y, at(usdPer1000))
				p.Cross(chart.Styles(i), chart.Exactly(x[f]), chart.Exactly(y[f]))
				fig.Row(w.worlds[k].String(), n, factor, x[f], y[f])
			}
			p.Line(chart.Styles(i), x, y, false)
		}
	}
	r.Figure(*fig)
}

// shown are the deciders of Fig. 18, in the order of their styles.
func shown() []string {
	return []string{"StepConf", named("Vanilla", fixed[0]), named("Orion", fixed[0]), named("COSE", fixed[0]), "Oracle", "replan"}
}

// quantilesOf are the 5th, 50th and 95th percentile of time over the limit, of the requests of all seeds.
func (w *sweep) quantilesOf(workflow, decider, factor int) (low, mid, high float64) {
	var all []float64
	for s := range w.seeds {
		all = append(all, w.all.At(workflow, decider, factor)[s].over...)
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
	fig := report.NewFigure("fig18", "Time of a request over its limit: median, and 5th to 95th percentile, under four limits. "+
		"The dotted line is the limit.",
		chart.Figure{Title: "End-to-end time under four limits", Columns: 3, Width: 7.5 * vg.Centimeter, Height: 6.5 * vg.Centimeter,
			Under: fmt.Sprintf("%d requests of each of %d seeds; bars: 5th to 95th percentile", w.requests, w.seeds)},
		"workflow", "limit / fastest", "decider", "p5", "median", "p95", "missed [%]")
	fig.Key(chart.Entry{Dot: true}, shown()...)
	for k, m := range w.models {
		p := fig.Panel(fmt.Sprintf("%s (fastest %.3g s)", w.worlds[k].String(), m.Fastest), "limit, as a factor on the fastest time",
			"time / limit")
		for _, factor := range four {
			f := place(factor)
			for i, name := range shown() {
				d := find(w.deciders, name)
				low, mid, high := w.quantilesOf(k, d, f)
				p.Cross(chart.Styles(i), chart.Exactly(factor+0.05*(float64(i)-2.5)), chart.Range{At: mid, Low: low, High: high})
				fig.Row(w.worlds[k].String(), factor, name, low, mid, high, w.estimate(r, k, d, f, missed).At)
			}
		}
		p.LevelY(1)
	}
	r.Figure(*fig)
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
	usd := func(x *summary) float64 { return x.usd }
	return report.Ratio(w.by(workflow, decider, factor, usd), w.by(workflow, find(w.deciders, "StepConf"), factor, usd))
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
	w.costFigure(r)
}

// costFigure draws mean cost over the limit, and below it the share of missed limits.
func (w *sweep) costFigure(r *suite.Report) {
	fig := report.NewFigure("fig20", "Mean cost and missed limits of StepConf, of one process an instance (Inter) and of a fixed "+
		"number of instances (Intra).", chart.Figure{Title: "Cost with one kind of parallelism alone", Columns: len(workflows),
		Width: 7.5 * vg.Centimeter, Height: 5.5 * vg.Centimeter,
		Under: fmt.Sprintf("means over %d requests of each of %d seeds; bands: 95 %% over seeds", w.requests, w.seeds)},
		"workflow", "limit / fastest", "decider", "cost [USD per thousand]", "low", "high", "missed [%]", "missed low", "missed high")
	fig.Key(chart.Entry{Line: true}, alone()...)
	c, below := fig.Chart, []*chart.Panel(nil)
	for k := range w.models {
		top := chart.NewPanel(w.worlds[k].String(), "limit / fastest time", "cost (USD per thousand)")
		under := chart.NewPanel("", "limit / fastest time", "missed (%)")
		top.LogX()
		top.LogY()
		under.LogX()
		for i, n := range alone() {
			d := find(w.deciders, n)
			var late []report.Estimate
			fig.Band(top, chart.Styles(i), factors, func(f int) report.Estimate { return w.estimate(r, k, d, f, usdPer1000) },
				func(f int, cost report.Estimate) []any {
					late = append(late, w.estimate(r, k, d, f, missed))
					return []any{w.worlds[k].String(), factors[f], n, cost, late[f]}
				})
			report.Line(under, chart.Styles(i), factors, late)
		}
		under.RangeY(0, 100)
		c.Panels, below = append(c.Panels, top), append(below, under)
		if len(below) == len(workflows) {
			c.Panels, below = append(c.Panels, below...), nil
		}
	}
	r.Figure(*fig)
}

// decision is what a decision is counted with, in seconds: the bound that `stoker bench decide` holds Algorithm 1 to. A
// result of a suite has no times of this machine.
const decision = 100e-6

// parts are what the time on the critical path is spent with, in percent (Fig. 22).
var parts = []struct {
	name string
	of   func(*summary) float64
}{
	{"mapping", mapping},
	{"transfers", func(s *summary) float64 { return 100 * s.transfer }},
	{"computation", func(s *summary) float64 { return 100 * (1 - s.mapping - s.transfer) }},
	{"decisions, at 100 µs each", decisionShare},
}

func decisionShare(s *summary) float64 { return 100 * decision * s.decisions / s.seconds }

// reportBreakdown has Fig. 22.
func (w *sweep) reportBreakdown(r *suite.Report) {
	most := 1.0
	d := find(w.deciders, "StepConf")
	fig := report.NewFigure("fig22", "What the time on the critical path is spent with under StepConf.",
		chart.Figure{Title: "Breakdown of the end-to-end time", Columns: len(workflows), Width: 7 * vg.Centimeter,
			Height: 6 * vg.Centimeter, Under: fmt.Sprintf("StepConf, %d requests of each of %d seeds; bands: 95 %% over seeds", w.requests,
				w.seeds)}, "workflow", "limit / fastest", "part", "share [%]", "low", "high")
	for k := range w.models {
		panel := fig.Panel(w.worlds[k].String(), "limit / fastest time", "share of the time (%)")
		panel.LogY()
		for i, p := range parts {
			if k == 0 {
				fig.Key(chart.Entry{Line: true}, p.name)
			}
			fig.Band(panel, chart.Styles(i), four, func(f int) report.Estimate { return w.estimate(r, k, d, place(four[f]), p.of) },
				func(f int, e report.Estimate) []any { return []any{w.worlds[k].String(), four[f], p.name, e} })
		}
		measured(r, suite.Row{Figure: "22, " + w.worlds[k].String(), Quantity: "share of decisions at 100 µs each, limit 2 ×", Unit: "%", Paper: &most,
			Note: "the paper: below 1 %; stoker bench decide measures a decision"}, w.by(k, d, place(2), decisionShare))
		measured(r, suite.Row{Figure: "22, " + w.worlds[k].String(), Quantity: "share of mapping, limit 2 ×", Unit: "%"},
			w.by(k, d, place(2), mapping))
	}
	r.Figure(*fig)
}
