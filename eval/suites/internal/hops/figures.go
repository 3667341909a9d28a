package hops

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// Sizes of panels, in points.
const (
	half   = vg.Length(270)
	third  = vg.Length(200)
	height = vg.Length(170)
)

// figure2 is profit and violations over windows.
func figure2(r *suite.Report, mains []*match) {
	overWindows(r, "fig2-profit-and-violations",
		"Fig. 2: cumulative profit (above) and violations since the beginning over jobs since the beginning (below); "+
			"rivals charge 1.0. Bands are 95 % intervals over seeds; rings are where the paper's HOPS and HAS-GPU end.",
		mains, true)
	for _, m := range mains {
		figure2Rows(r, m)
	}
}

// overWindows draws profit and violations of matches side by side, with the paper's values at the end where it has
// some.
func overWindows(r *suite.Report, name, caption string, matches []*match, paper bool) {
	f := report.NewFigure(name, caption, chart.Figure{Columns: max(2, len(matches)), Width: half, Height: height},
		"workload", "policy", "window", "cumulative profit [money]", "violation rate [% of jobs]")
	f.Key(chart.Entry{Line: true, Band: true}, matches[0].names()...)
	if paper {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: "the paper's end, in the policy's colour", Style: chart.Bound(),
			Dot: true})
	}
	var above, below []*chart.Panel
	for _, m := range matches {
		money := chart.NewPanel(m.world.name, "window", "cumulative profit (money)")
		rates := chart.NewPanel(m.world.name, "window", "violated (% of jobs)")
		money.RangeY(0, 0)
		rates.RangeY(0, 0)
		bands := make([][2][]report.Estimate, len(m.policies))
		for i, p := range m.policies {
			profit := suite.Band(suite.Cumulative(m.series(i, "profit", 1)))
			rate := suite.Band(m.series(i, "violation_rate", 100))
			for t := range profit {
				f.Rows = append(f.Rows, []any{m.world.name, p.name, t + 1, profit[t], rate[t]})
			}
			bands[i] = [2][]report.Estimate{profit, rate}
		}
		for i := range slices.Backward(m.policies) { // HOPS on top
			report.Line(money, chart.Styles(i), report.Places(len(bands[i][0])), bands[i][0])
			report.Line(rates, chart.Styles(i), report.Places(len(bands[i][1])), bands[i][1])
		}
		if paper {
			m.rings(money, rates)
		}
		above, below = append(above, money), append(below, rates)
	}
	f.Chart.Panels = append(above, below...)
	r.Figure(*f)
}

// rings marks where the paper's HOPS and HAS-GPU end.
func (m *match) rings(money, rates *chart.Panel) {
	x := chart.Exactly(float64(m.world.config.Windows))
	for _, end := range []struct {
		policy       string
		profit, rate float64
	}{{hopsName, paperProfit, paperViolated}, {hasName, paperBest, paperViolatedH}} {
		s := report.Ring(chart.Styles(m.of(end.policy)))
		money.Cross(s, x, chart.Exactly(end.profit))
		rates.Cross(s, x, chart.Exactly(end.rate))
	}
}

// fig2Quantity is one half of Fig. 2: a metric of all policies, and what the paper has of it.
type fig2Quantity struct {
	figure, quantity, unit, metric string
	factor                         float64
	hops, has                      float64
	ofHAS, ofOthers                string
}

// figure2Rows are Fig. 2's numbers.
func figure2Rows(r *suite.Report, m *match) {
	where := ", " + m.world.name
	profit := fig2Quantity{
		"2a" + where, "cumulative profit, ", "money", "profit", 1, paperProfit, paperBest,
		"the paper's best rival", "the paper: below 440,000",
	}
	violations := fig2Quantity{
		"2b" + where, "violations, ", "% of jobs", "violation_rate", 100, paperViolated, paperViolatedH,
		"the paper: over 19 %", "the paper: between HOPS and HAS-GPU",
	}
	profit.rows(r, m)
	lead, best := m.lead()
	r.Measured(suite.Row{
		Figure: "2a" + where, Quantity: "HOPS' lead over its best rival", Unit: "%",
		Paper: new(100 * (paperProfit/paperBest - 1)),
		Note:  "best here: " + best + "; the paper says 45 to 55 %",
	}, lead)
	violations.rows(r, m)
}

func (h *fig2Quantity) rows(r *suite.Report, m *match) {
	for i, p := range m.policies {
		row := suite.Row{Figure: h.figure, Quantity: h.quantity + p.name, Unit: h.unit}
		switch p.name {
		case hopsName:
			row.Paper = new(h.hops)
		case hasName:
			row.Paper, row.Note = new(h.has), h.ofHAS
		default:
			row.Note = h.ofOthers
		}
		if !m.published(i) {
			row.Note = "not in the paper"
		}
		r.Measured(row, m.scores(i, h.metric, h.factor))
	}
}

// figure3 is HOPS' tiers over windows: shares, prices and baselines.
func figure3(r *suite.Report, mains []*match) {
	quantities := []struct {
		name, label, row, unit string
		factor                 float64
		paper                  []float64
	}{
		{"share", "share of jobs (%)", "3a", "% of jobs", 100, paperShares},
		{"price", "price (money per billing unit)", "3b", "money per billing unit", 1, paperPrices},
		{"baseline", "keep-alive vGPUs", "3c", "vGPUs", 1, paperBaselines},
	}
	f := report.NewFigure("fig3-tiers", "Fig. 3: HOPS' tier shares, prices and baselines. Bands are 95 % intervals over seeds; "+
		"dashed lines are the paper's final values.", chart.Figure{Columns: len(quantities), Width: third, Height: height},
		"workload", "tier", "window", "share [% of jobs]", "price [money per billing unit]", "baseline [vGPUs]")
	f.Key(chart.Entry{Line: true, Band: true}, "tier 1", "tier 2", "tier 3")
	f.Chart.Key = append(f.Chart.Key,
		chart.Entry{Text: "the paper's final value, in the tier's colour", Style: faded(chart.Common()), Line: true})
	for _, m := range mains {
		bands := make([][3][]report.Estimate, 3)
		for k, q := range quantities {
			panel := f.Panel(m.world.name, "window", q.label)
			panel.TicksX(5)
			if q.name != "price" {
				panel.RangeY(0, 0)
			}
			for tier := range 3 {
				name := fmt.Sprintf("%s_%d", q.name, tier+1)
				band := suite.Band(m.series(0, name, q.factor))
				bands[tier][k] = band
				report.Line(panel, chart.Styles(tier), report.Places(len(band)), band)
				ends, y := []float64{1, float64(m.world.config.Windows)}, q.paper[tier]
				panel.Line(faded(chart.Styles(tier)), ends, []float64{y, y}, false)
				r.Measured(suite.Row{
					Figure: q.row + ", " + m.world.name, Quantity: fmt.Sprintf("%s, tier %d", q.name, tier+1), Unit: q.unit,
					Paper: new(y), Note: fmt.Sprintf("mean of the last %d windows", tail),
				}, m.final(0, name, q.factor))
			}
		}
		for tier, b := range bands {
			for t := range b[0] {
				f.Rows = append(f.Rows, []any{m.world.name, tier + 1, t + 1, b[0][t], b[1][t], b[2][t]})
			}
		}
	}
	r.Figure(*f)
}

// faded is a style with the paper's dashes.
func faded(s chart.Style) chart.Style {
	s.Dashes = chart.Bound().Dashes
	return s
}

// figure4 is switches, as charged and all alike, and utilisation.
func figure4(r *suite.Report, mains []*match) {
	quantities := []struct {
		name, label, row, unit string
		factor                 float64
		paper                  map[string]float64
		note                   string
	}{
		{
			"switches", "charged switches", "4a", "in all", 1,
			map[string]float64{hopsName: paperSwitches, hasName: paperSwitchesHAS, mqfqName: paperSwitchesMQFQ}, "",
		},
		{"redeployments", "all changes of function", "4a", "in all", 1, nil, "on any vGPU: the count that is alike for all"},
		{"utilisation", "vGPUs in service (%)", "4b", "% of vGPUs", 100, map[string]float64{hopsName: paperUsed}, ""},
	}
	notes := map[string]string{hasName: "the paper: HOPS has less than 4 % of it",
		mqfqName: "the paper: an order of magnitude above HOPS"}
	f := report.NewFigure("fig4-switches-and-utilisation",
		"Fig. 4: switches as the paper charges them (keep-alive vGPUs only, for policies that have such), all changes of "+
			"function counted alike, and utilisation. Bars are 95 % intervals over seeds, rings the paper's values.",
		chart.Figure{Columns: len(quantities), Width: third, Height: vg.Length(40 + 17*len(mains[0].policies))},
		"workload", "policy", "charged switches", "all changes of function", "utilisation [% of vGPUs]")
	papers := report.Ring(chart.Common())
	f.Chart.Key = []chart.Entry{{Text: "here", Style: chart.Common(), Dot: true, Line: true},
		{Text: "the paper", Style: papers, Dot: true}}
	for _, m := range mains {
		cells := make([][]any, len(m.policies))
		for k, q := range quantities {
			panel := f.Panel(m.world.name, q.label, "")
			if q.name == "utilisation" {
				panel.TicksX(4)
			} else {
				panel.LogX()
			}
			panel.MarginX = 0.06
			panel.Names(m.names(), k > 0)
			for i, p := range m.policies {
				s := m.scores(i, q.name, q.factor)
				e := r.Estimate(s)
				cells[i] = append(cells[i], e)
				panel.Interval(chart.Styles(i), i, chart.Range(e))
				row := suite.Row{Figure: q.row + ", " + m.world.name, Quantity: q.label + ", " + p.name, Unit: q.unit, Note: q.note}
				if x, ok := q.paper[p.name]; ok {
					row.Paper = &x
					panel.Interval(papers, i, chart.Range{At: x, Low: math.NaN(), High: math.NaN()})
					if q.name == "switches" {
						row.Note = notes[p.name]
					}
				}
				r.Measured(row, s)
			}
		}
		for i, p := range m.policies {
			f.Rows = append(f.Rows, append([]any{m.world.name, p.name}, cells[i]...))
		}
	}
	r.Figure(*f)
}
