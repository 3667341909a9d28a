package faasconf

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/lists"
)

var nan = math.NaN()

// figure8 reports the static search: the price of the cheapest configuration that kept the thresholds within 15 windows.
func figure8(r *suite.Report, f *field) {
	r.Table(f.table("fig8-searches", "Searches under static users (Fig. 8)"))
	f.draw(r, "fig8-price", "Fig. 8: price of the cheapest configuration that kept the thresholds within 15 windows",
		[]string{oursName, firmName, "rambo", "aquatope", "random-search"}, f.apps)
	for i := range f.methods[1:] {
		m := &f.methods[i+1]
		if slices.Contains([]string{mfName, maddpgName, ddpgName}, m.name) {
			continue // Fig. 13 compares these
		}
		f.savingRow(r, "8", oursName, m.name, m.saving, f.apps, f.users)
		f.reliableRow(r, oursName, m.name)
	}
	for i := range f.methods {
		m := &f.methods[i]
		var none, all, missed float64
		var again []float64
		for _, a := range f.apps {
			for _, u := range f.users {
				c := f.of(m.name, a.name, u)
				if c == nil {
					continue
				}
				none, all = none+1-c.found(), all+1
				missed += stats.Mean(pooled(c.missed()))
				again = append(again, pooled(c.again())...)
			}
		}
		if all == 0 {
			continue
		}
		r.Row(suite.Row{Figure: "8", Quantity: "searches without a feasible configuration (X), " + m.name, Unit: "%",
			Ours: eval.Number(100 * none / all)})
		r.Row(suite.Row{Figure: "8", Quantity: "windows of the search that missed the thresholds, " + m.name, Unit: "%",
			Ours: eval.Number(100 * missed / all)})
		r.Row(suite.Row{Figure: "8", Quantity: "the best again, fresh windows that missed the thresholds, " + m.name,
			Unit: "%", Ours: eval.Number(100 * stats.Mean(again)),
			Note: "0 as the search saw it: the winner's curse"})
	}
}

// savingRow reports by how many percent method a is cheaper than b.
func (f *field) savingRow(r *suite.Report, figure, a, b string, paper float64, apps []*app, users []int) {
	row := suite.Row{
		Figure: figure, Quantity: fmt.Sprintf("%s is cheaper than %s by", a, b), Unit: "%",
		Note: "as the searches saw it; mean over the scenarios in which both found one",
	}
	if paper != 0 {
		row.Paper = new(paper)
	}
	savedRow(r, row, f.savings(a, b, apps, users), "no repetition in which both found a feasible configuration")
}

// savedRow adds a row of savings, or one without a value and with another note where there are none.
func savedRow(r *suite.Report, row suite.Row, savings stats.Scores, none string) {
	if len(savings) > 0 {
		r.Measured(row, savings)
		return
	}
	row.Ours, row.Note = eval.Number(nan), none
	r.Row(row)
}

// draw shows the prices of some methods over users, a panel for each application.
func (f *field) draw(r *suite.Report, name, caption string, methods []string, apps []*app) {
	p := newPlot(name, caption+"; the mean over repetitions that found one. A point is missing where none did.", "method",
		"users", "price [USD/h]")
	for _, a := range apps {
		p.panel(r, a.name, "users", "price (USD/h)", methods, report.Floats(f.users), func(s, k int) []float64 {
			return pooled(f.of(methods[s], a.name, f.users[k]).prices())
		})
	}
	p.add(r)
}

// reliableRow is savingRow over the configurations that kept the thresholds in at least half of their fresh windows:
// prices at more equal violations.
func (f *field) reliableRow(r *suite.Report, a, b string) {
	row := suite.Row{Figure: "8", Quantity: fmt.Sprintf("%s is cheaper than %s by, reliable ones", a, b), Unit: "%",
		Note: "as above, of the configurations that kept the thresholds in half of 20 fresh windows or more"}
	savedRow(r, row, f.savingsOf(cell.reliable, a, b, f.apps, f.users), row.Note)
}

// savings are by how many percent a is cheaper than b: [version of a][repetition], the mean over the scenarios in which
// both found a feasible configuration. b's versions are averaged. A repetition in which some version of a has no such
// scenario is left out; nil means that none is left.
func (f *field) savings(a, b string, apps []*app, users []int) stats.Scores {
	return f.savingsOf(cell.prices, a, b, apps, users)
}

// savingsOf is savings by prices of another kind.
func (f *field) savingsOf(prices func(cell) [][]float64, a, b string, apps []*app, users []int) stats.Scores {
	of := slices.IndexFunc(f.methods, func(m method) bool { return m.name == a })
	out := make(stats.Scores, f.methods[of].versions)
	for rep := range f.of(f.methods[0].name, f.apps[0].name, f.users[0])[0].Repetitions {
		row := lists.Make(len(out), func(v int) float64 { return f.saving(prices, a, b, apps, users, v, rep) })
		if slices.ContainsFunc(row, math.IsNaN) {
			continue
		}
		for v, x := range row {
			out[v] = append(out[v], x)
		}
	}
	if len(out[0]) == 0 {
		return nil
	}
	return out
}

// saving is that of one version of a in one repetition, NaN where there is no scenario.
func (f *field) saving(prices func(cell) [][]float64, a, b string, apps []*app, users []int,
	version, rep int) float64 {
	var all []float64
	for _, app := range apps {
		for _, u := range users {
			own, other := f.of(a, app.name, u), f.of(b, app.name, u)
			if own == nil || other == nil {
				continue
			}
			x, y := prices(own)[version][rep], column(prices(other), rep)
			if !math.IsNaN(x) && len(y) > 0 {
				all = append(all, 100*(1-x/stats.Mean(y)))
			}
		}
	}
	return stats.Mean(all)
}

// column are a repetition's numbers over versions, without those that are missing.
func column(rows [][]float64, rep int) (out []float64) {
	for _, row := range rows {
		if !math.IsNaN(row[rep]) {
			out = append(out, row[rep])
		}
	}
	return out
}

// table lists every scenario and method.
func (f *field) table(name, title string) report.Table {
	t := report.Table{
		Name: name, Title: title,
		Columns: report.Head("application", "users", "method", "found", "price [USD/h]", "violated while searching",
			"violated again"),
		Note: "price: the cheapest feasible of 15 windows as seen, the mean over searches that found one; again: the same " +
			"configuration in 20 fresh windows. found: the share of searches with a feasible window.",
	}
	for _, a := range f.apps {
		for _, u := range f.users {
			for i := range f.methods {
				m := &f.methods[i]
				c := f.of(m.name, a.name, u)
				if c == nil {
					continue
				}
				t.Rows = append(t.Rows, []any{a.name, u, m.name, c.found(), point(pooled(c.prices())),
					point(pooled(c.missed())), point(pooled(c.again()))})
			}
		}
	}
	return t
}

func point(x []float64) report.Estimate {
	if len(x) == 0 {
		return report.None()
	}
	return report.Point(stats.Mean(x))
}

// searchClaims are those of §5.2.1 and §5.2.3.
var searchClaims = []suite.Statement[*field]{
	suite.Says("FaaSConf is cheaper than Firm (24 %), RAMBO (23 %), Aquatope (28 %) and random search (31 %)",
		suite.Over(0), func(f *field, rule suite.Rule) (out []suite.Finding) {
			for _, b := range []string{firmName, "rambo", "aquatope", "random-search"} {
				out = append(out, f.cheaper(oursName, b, f.apps, rule))
			}
			return out
		}),
	suite.Says("rivals that decide hardware alone find nothing at all in some scenarios",
		nil, func(f *field, _ suite.Rule) []suite.Finding {
			none := 0
			for _, b := range []string{firmName, "rambo", "aquatope", "random-search"} {
				for _, a := range f.apps {
					for _, u := range f.users {
						if f.of(b, a.name, u).found() == 0 {
							none++
						}
					}
				}
			}
			return []suite.Finding{suite.Found(suite.If(none > 0), "in %d of %d", none, 4*len(f.apps)*len(f.users))}
		}),
	suite.Says("deciding the limit makes Firm cheaper (22.08 %)",
		suite.Over(0), func(f *field, rule suite.Rule) []suite.Finding {
			a := f.app(sizing.Sequential)
			if a == nil {
				return nil
			}
			return []suite.Finding{f.cheaper(firmName+withLimit, firmName, []*app{a}, rule)}
		}).Else("not played in a quick run"),
	suite.Says("attention is cheaper than the mean (11.85 %), all agents (19.88 %) and one agent for all (10.84 %)",
		suite.Over(0), func(f *field, rule suite.Rule) (out []suite.Finding) {
			for _, b := range []string{mfName, maddpgName, ddpgName} {
				out = append(out, f.cheaper(boldName, b, f.apps, rule))
			}
			return out
		}),
	suite.Says("safe exploration lowers violations while serving (60 %, 37.5 %)",
		suite.Under(0), func(f *field, rule suite.Rule) (out []suite.Finding) {
			for _, p := range paperSafe {
				a := f.app(p.app)
				if a == nil {
					continue
				}
				e := estimate(points(f.of(oursName, a.name, safeUsers).missed(), f.of(boldName, a.name, safeUsers).missed()))
				out = append(out, suite.Found(rule(e), "%s: %s points", p.app, e))
			}
			return out
		}).Else("not played in a quick run"),
}

// cheaper measures by how many percent a is cheaper than b.
func (f *field) cheaper(a, b string, apps []*app, rule suite.Rule) suite.Finding {
	s := f.savings(a, b, apps, f.users)
	if s == nil {
		return suite.Finding{Text: b + ": nothing to compare with", Verdict: suite.Unknown}
	}
	e := estimate(s)
	return suite.Found(rule(e), "%s: %s %%", b, e)
}
