package faasconf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// By how many percent FaaSConf's cumulative latency is below that of others (§5.2.2).
var paperLatency = map[string]float64{firmName: -29.1, "rambo": -33.39, "aquatope": -26.53}

// report is Figs. 9 and 10.
func (t *trace) report() {
	for _, name := range t.shown {
		row := suite.Row{Figure: "9", Quantity: "windows that kept the thresholds, " + name, Unit: "%"}
		if slices.Contains(ours, name) {
			row.Paper = new(paperKept)
		}
		t.r.Measured(row, t.kept(name))
	}
	for _, name := range t.shown {
		t.r.Measured(suite.Row{Figure: "9", Quantity: "price, " + name, Unit: "USD/h"}, t.scores(name, "price", 1))
	}
	for _, name := range ours {
		t.against(name)
	}
	t.equal()
	t.draw()
	t.minutes()
}

// against compares a learned policy with the others.
func (t *trace) against(name string) {
	r := t.r
	own := t.scores(name, "violated", 1)
	var rivals []eval.Scored
	var published float64 // violations of the paper's rivals
	for _, rival := range t.shown {
		if rival == name || slices.Contains(ours, rival) {
			continue
		}
		violated := t.scores(rival, "violated", 1)
		rivals = append(rivals, eval.Scored{Name: rival, Scores: violated})
		if latency, ok := paperLatency[rival]; ok {
			published += stats.Mean(violated.Flat()) / float64(len(paperLatency))
			r.Measured(suite.Row{Figure: "9", Quantity: fmt.Sprintf("mean latency of %s over that of %s", name, rival), Unit: "%",
				Paper: new(latency), Note: "the paper: cumulative latencies"},
				relative(t.scores(name, "latency", 1), t.scores(rival, "latency", 1)))
		}
	}
	r.Row(suite.Row{Figure: "9", Quantity: "violations of Firm, RAMBO and Aquatope, on average, over those of " + name,
		Unit: "×", Paper: new(paperFewer), Ours: eval.Number(published / stats.Mean(own.Flat()))})
	r.Measured(suite.Row{Figure: "9", Quantity: "price over the oracle's, " + name, Unit: "%", Paper: new(paperOverOracle),
		Note: "not at equal violations"},
		relative(t.scores(name, "price", 1), t.scores(oracleName, "price", 1)))
	r.Compare("85 minutes", eval.Metric{Name: "violated", Better: envs.Lower}, eval.Scored{Name: name, Scores: own},
		rivals...)
}

// Shares of violated windows at which prices are compared.
var levels = []float64{0.02, 0.05, 0.1, 0.25}

// equal compares prices at equal violations, along each policy's frontier.
func (t *trace) equal() {
	families := make([]pareto.Family, len(t.families))
	for i, f := range t.families {
		families[i].Name = f.name
		for _, s := range f.settings {
			name := f.name
			if s != "" {
				name += ", " + s
			}
			families[i].Points = append(families[i].Points, pareto.Point{Setting: s,
				Violated: t.scores(name, "violated", 1), Price: t.scores(name, "price", 1)})
		}
	}
	res, err := pareto.Analyse(families, levels, suite.Resamples, 1)
	if err != nil {
		t.r.Fail("frontiers: %w", err)
		return
	}
	at := report.Table{
		Name: "fig9-equal", Title: "Price where at most so many windows violate the thresholds, along each frontier",
		Columns: report.Head("policy", "violated at most", "price [USD/h]", "over that of "+shippedName),
		Note: "means and 95 % intervals over training and workload seeds; empty: no setting violates so little. Learned " +
			"policies but firm have the dials 0.5, 1, 2 and 4, the autoscaler 20 to 60 % CPU, others one setting.",
	}
	for _, l := range res.Levels {
		at.Rows = append(at.Rows, []any{l.Family, float64(l.Level), l.Price.Estimate(), l.Ratio.Estimate()})
	}
	t.r.Table(at)
	t.drawFrontiers(res)
}

// drawFrontiers shows price over violations, a line for each family.
func (t *trace) drawFrontiers(res *pareto.Result) {
	f := report.NewFigure("fig9-frontiers", "Price over violated windows in the 85 minutes: a point for each setting, means over "+
		"training and workload seeds with 95 % intervals. Lower left is better.", chart.Figure{Columns: 1, Width: 2 * half, Height: 1.4 * height},
		"policy", "setting", "violated", "price [USD/h]")
	panel := f.Panel("", "violated windows (%)", "price (USD/h)")
	for i, family := range t.families {
		style := chart.Styles(i)
		if family.name == oracleName {
			style = chart.Bound()
		}
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: family.name, Style: style, Line: len(family.settings) > 1, Dot: true})
		var rows []pareto.Row
		for _, p := range res.Points {
			if p.Family == family.name {
				rows = append(rows, p)
				f.Rows = append(f.Rows, []any{p.Family, p.Setting, p.Violated.Estimate(), p.Price.Estimate()})
			}
		}
		slices.SortFunc(rows, func(a, b pareto.Row) int { return cmp.Compare(a.Violated.Mean, b.Violated.Mean) })
		var x, y []float64
		for _, p := range rows {
			v, price := p.Violated.Estimate(), p.Price.Estimate()
			panel.Cross(style, chart.Range{At: 100 * v.At, Low: 100 * v.Low, High: 100 * v.High}, chart.Range(price))
			x, y = append(x, 100*v.At), append(y, price.At)
		}
		panel.Line(style, x, y, false)
	}
	panel.RangeY(0, 0)
	t.r.Figure(*f)
}

// draw shows violations, latency and cost as they add up.
func (t *trace) draw() {
	f := report.NewFigure("fig9-trace", "Fig. 9: violated windows, latency and cost since the beginning of the 85 minutes, which no "+
		"policy was trained on. Lines are means over training seeds, bands 95 % intervals over workload seeds.",
		chart.Figure{Columns: 2, Width: half, Height: height}, "policy", "window", "violated [windows]", "latency [s]", "cost [USD]")
	f.Panel("violations", "window", "violated windows so far")
	f.Panel("latency", "window", "sum of mean latencies (s)")
	f.Panel("cost", "window", "cost so far (USD)")
	f.Key(chart.Entry{Line: true, Band: true}, t.shown...)
	for i, name := range t.shown {
		var bands [3][]report.Estimate
		for k, quantity := range []string{"violated", "latency", "cost"} {
			bands[k] = suite.Band(suite.Cumulative(t.series(name, quantity)))
			report.Line(f.Chart.Panels[k], chart.Styles(i), report.Places(len(bands[k])), bands[k])
		}
		for w := range bands[0] {
			f.Rows = append(f.Rows, []any{name, w + 1, bands[0][w], bands[1][w], bands[2][w]})
		}
	}
	t.r.Figure(*f)
}

// The three minutes of Fig. 10, counted from the first of the 85 (223 of the evaluation part): configs/faasconf/trace.yaml.
var threeMinutes = []struct {
	name   string
	minute int
}{{"low", 305 - 223}, {"middle", 228 - 223}, {"high", 284 - 223}}

// By how many percent FaaSConf is cheaper and faster in the three minutes, on average (§5.2.2).
var paperMinutes = []struct {
	rival          string
	price, latency float64
}{{firmName, 11.49, 8.26}, {"rambo", 23.11, 18.92}, {"aquatope", 24.86, 16.01}}

// minutes is Fig. 10: price and latency at the low, the middle and the high minute.
func (t *trace) minutes() {
	if n := len(t.series(oursName, "price")[0]); n < 170 {
		t.r.Note("Fig. 10 is left out: %d windows were played", n)
		return
	}
	tab := report.Table{
		Name: "fig10-minutes", Title: "Low, middle and high minute of the 85 (Fig. 10)",
		Columns: report.Head("minute", "policy", "price [USD/h]", "latency [s]", "violated [% of windows]"),
		Note:    "means over the minute's two windows, training seeds and workload seeds",
	}
	for k, m := range threeMinutes {
		for _, name := range t.shown {
			tab.Rows = append(tab.Rows, []any{m.name, name, t.point(name, "price", k), t.point(name, "latency", k),
				100 * stats.Mean(t.inMinute(name, "violated", k))})
		}
	}
	t.r.Table(tab)
	for _, own := range ours {
		for _, m := range paperMinutes {
			for _, q := range []struct {
				quantity, text string
				paper          float64
			}{{"price", "cheaper", m.price}, {"latency", "faster", m.latency}} {
				t.r.Measured(suite.Row{
					Figure: "10", Quantity: fmt.Sprintf("%s is %s than %s in the three minutes by", own, q.text, m.rival),
					Unit: "%", Paper: new(q.paper), Note: "not at equal violations",
				}, t.inAll(own, m.rival, q.quantity))
			}
		}
	}
}

// inMinute are a policy's means over the k-th minute's windows and training seeds, by workload seed.
func (t *trace) inMinute(name, quantity string, k int) []float64 {
	series, at := t.series(name, quantity), 2*threeMinutes[k].minute
	return lists.Make(len(series), func(i int) float64 { return (series[i][at] + series[i][at+1]) / 2 })
}

func (t *trace) point(name, quantity string, k int) report.Estimate {
	return t.r.Estimate(stats.Scores{t.inMinute(name, quantity, k)})
}

// inAll is by how many percent a quantity of a is below b's, the mean over the three minutes, by workload seed.
func (t *trace) inAll(a, b, quantity string) stats.Scores {
	var rows [][]float64
	for k := range threeMinutes {
		x, y := t.inMinute(a, quantity, k), t.inMinute(b, quantity, k)
		rows = append(rows, lists.Make(len(x), func(i int) float64 { return 100 * (1 - x[i]/y[i]) }))
	}
	return stats.Scores{meanOver(rows)}
}

// ours are the policies that stand for FaaSConf's: the shipped one, its learner with as many steps as the others, and the
// paper's learner.
var ours = []string{shippedName, ppoName, oursName}

// each measures all of ours.
func each(measure func(t *trace, name string, rule suite.Rule) suite.Finding) func(*trace, suite.Rule) []suite.Finding {
	return func(t *trace, rule suite.Rule) (out []suite.Finding) {
		for _, name := range ours {
			f := measure(t, name, rule)
			f.Text = name + ": " + f.Text
			out = append(out, f)
		}
		return out
	}
}

// traceClaims are those of §5.2.2.
var traceClaims = []suite.Statement[*trace]{
	suite.Says("on 85 minutes of a trace FaaSConf keeps over 74.12 % of windows",
		suite.Over(paperKept), each(func(t *trace, name string, rule suite.Rule) suite.Finding {
			e := estimate(t.kept(name))
			return suite.Found(rule(e), "%s %%", e)
		})),
	suite.Says("it violates 3.48 times less than Firm, RAMBO and Aquatope on average",
		suite.Under(-100*(1-1/paperFewer)), each(
			func(t *trace, name string, rule suite.Rule) suite.Finding {
				e := estimate(relative(t.scores(name, "violated", 1), t.published("violated")))
				return suite.Found(rule(e), "%s %% of change, −71.3 %% is 3.48 times less", e)
			})),
	suite.Says("it costs at most 8.48 % more than the oracle",
		suite.Under(paperOverOracle), each(func(t *trace, name string, rule suite.Rule) suite.Finding {
			e := estimate(relative(t.scores(name, "price", 1), t.scores(oracleName, "price", 1)))
			return suite.Found(rule(e), "%s %%", e)
		})),
	suite.Says("its cumulative latency is below that of Firm (29.1 %), RAMBO (33.39 %) and Aquatope (26.53 %)",
		suite.Under(0), func(t *trace, rule suite.Rule) (out []suite.Finding) {
			for _, name := range ours {
				for _, m := range paperMinutes {
					e := estimate(relative(t.scores(name, "latency", 1), t.scores(m.rival, "latency", 1)))
					out = append(out, suite.Found(rule(e), "%s against %s: %s %%", name, m.rival, e))
				}
			}
			return out
		}),
}

// published are the scores of the paper's three rivals, all versions together.
func (t *trace) published(quantity string) (out [][]float64) {
	for _, m := range paperMinutes {
		out = append(out, meanOver(t.scores(m.rival, quantity, 1)))
	}
	return out
}
