package hops

import (
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
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
	f := suite.Figure{
		Name: name, Caption: caption,
		Chart: &chart.Figure{
			Columns: max(2, len(matches)), Width: half, Height: height, Key: matches[0].key(chart.Entry{Line: true, Band: true}),
		},
		Columns: table.Head("workload", "policy", "window", "cumulative profit [money]", "violation rate [% of jobs]"),
	}
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
		bands := make([][2][]table.Estimate, len(m.policies))
		for i, p := range m.policies {
			profit := suite.Band(suite.Cumulative(m.series(i, "profit", 1)))
			rate := suite.Band(m.series(i, "violation_rate", 100))
			for t := range profit {
				f.Rows = append(f.Rows, []any{m.world.name, p.name, t + 1, profit[t], rate[t]})
			}
			bands[i] = [2][]table.Estimate{profit, rate}
		}
		for i := range slices.Backward(m.policies) { // HOPS on top
			suite.Line(money, chart.Styles(i), windows(bands[i][0]), bands[i][0])
			suite.Line(rates, chart.Styles(i), windows(bands[i][1]), bands[i][1])
		}
		if paper {
			m.rings(money, rates)
		}
		above, below = append(above, money), append(below, rates)
	}
	f.Chart.Panels = append(above, below...)
	r.Figure(f)
}

// windows are the numbers of windows, from 1, that estimates are of.
func windows(e []table.Estimate) []float64 {
	x := make([]float64, len(e))
	for t := range x {
		x[t] = float64(t + 1)
	}
	return x
}

// rings marks where the paper's HOPS and HAS-GPU end.
func (m *match) rings(money, rates *chart.Panel) {
	x := chart.Exactly(float64(m.world.config.Windows))
	for _, end := range []struct {
		policy       string
		profit, rate float64
	}{{hopsName, paperProfit, paperViolated}, {hasName, paperBest, paperViolatedH}} {
		s := suite.Ring(chart.Styles(m.of(end.policy)))
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
