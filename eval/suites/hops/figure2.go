package hops

import (
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/stats"
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
func figure2(r *suite.Report, mains []*match) error {
	err := overWindows(r, "fig2-profit-and-violations",
		"Fig. 2: cumulative profit (above) and violations since the beginning over jobs since the beginning (below); rivals charge 1.0. Bands are 95 % intervals over seeds; rings are where the paper's HOPS and HAS-GPU end.",
		mains, true)
	if err != nil {
		return err
	}
	for _, m := range mains {
		if err := rows2(r, m); err != nil {
			return err
		}
	}
	return nil
}

// overWindows draws profit and violations of matches side by side, with the paper's ends where there are such.
func overWindows(r *suite.Report, name, caption string, matches []*match, paper bool) error {
	f := suite.Figure{
		Name: name, Caption: caption,
		Chart:   &chart.Figure{Columns: max(2, len(matches)), Width: half, Height: height, Key: matches[0].key(chart.Entry{Line: true, Band: true})},
		Columns: []suite.Column{{Name: "workload"}, {Name: "policy"}, {Name: "window"}, {Name: "cumulative profit", Unit: "money"}, {Name: "violation rate", Unit: "% of jobs"}},
	}
	if paper {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: "the paper's end, in the policy's colour", Style: chart.Bound(), Dot: true})
	}
	var above, below []*chart.Panel
	for _, m := range matches {
		money := chart.NewPanel(m.world.name, "window", "cumulative profit (money)")
		rates := chart.NewPanel(m.world.name, "window", "violated (% of jobs)")
		money.RangeY(0, 0)
		rates.RangeY(0, 0)
		bands := make([][2][]suite.Estimate, len(m.policies))
		for i, p := range m.policies {
			profit, err := m.series(i, "profit", 1)
			if err != nil {
				return err
			}
			rate, err := m.series(i, "violation_rate", 100)
			if err != nil {
				return err
			}
			a, b := suite.Band(suite.Cumulative(profit)), suite.Band(rate)
			for t := range a {
				f.Rows = append(f.Rows, []any{m.world.name, p.name, t + 1, a[t], b[t]})
			}
			bands[i] = [2][]suite.Estimate{a, b}
		}
		for i := range slices.Backward(m.policies) { // HOPS on top
			draw(money, style(i), bands[i][0])
			draw(rates, style(i), bands[i][1])
		}
		if paper {
			m.rings(money, rates)
		}
		above, below = append(above, money), append(below, rates)
	}
	f.Chart.Panels = append(above, below...)
	r.Figure(f)
	return nil
}

// rings marks where the paper's HOPS and HAS-GPU end.
func (m *match) rings(money, rates *chart.Panel) {
	x := exactly(float64(m.world.config.Windows))
	for _, end := range []struct {
		policy       string
		profit, rate float64
	}{{hopsName, paperProfit, paperViolated}, {hasName, paperBest, paperViolatedH}} {
		s := ring(style(m.of(end.policy)))
		money.Cross(s, x, exactly(end.profit))
		rates.Cross(s, x, exactly(end.rate))
	}
}

// half2 is one half of Fig. 2: a metric of all policies, and what the paper has of it.
type half2 struct {
	figure, quantity, unit, metric string
	factor                         float64
	hops, has                      float64
	ofHAS, ofOthers                string
}

// rows2 are Fig. 2's numbers.
func rows2(r *suite.Report, m *match) error {
	where := ", " + m.world.name
	profit := half2{"2a" + where, "cumulative profit, ", "money", "profit", 1, paperProfit, paperBest, "the paper's best rival", "the paper: below 440,000"}
	violations := half2{"2b" + where, "violations, ", "% of jobs", "violation_rate", 100, paperViolated, paperViolatedH,
		"the paper: over 19 %", "the paper: between HOPS and HAS-GPU"}
	if err := profit.rows(r, m); err != nil {
		return err
	}
	lead, best, err := m.lead()
	if err != nil {
		return err
	}
	r.Measured(suite.Row{
		Figure: "2a" + where, Quantity: "HOPS' lead over its best rival", Unit: "%", Paper: new(100 * (paperProfit/paperBest - 1)),
		Note: "best here: " + best + "; the paper says 45 to 55 %",
	}, lead)
	return violations.rows(r, m)
}

func (h *half2) rows(r *suite.Report, m *match) error {
	for i, p := range m.policies {
		s, err := m.scores(i, h.metric, h.factor)
		if err != nil {
			return err
		}
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
		r.Measured(row, s)
	}
	return nil
}

// lead is how much more HOPS earns than its best rival, in % by seed, and who that is. Trained policies are no rivals of the paper's.
func (m *match) lead() (stats.Scores, string, error) {
	own, err := m.scores(0, "profit", 1)
	if err != nil {
		return nil, "", err
	}
	name, best := "", stats.Scores(nil)
	for i, p := range m.policies {
		if i == 0 || !m.published(i) {
			continue
		}
		s, err := m.scores(i, "profit", 1)
		if err != nil {
			return nil, "", err
		}
		if best == nil || stats.IQM(s.Flat()) > stats.IQM(best.Flat()) {
			name, best = p.name, s
		}
	}
	out := make([]float64, len(own[0]))
	for j := range out {
		out[j] = 100 * (own[0][j]/best[0][j] - 1)
	}
	return stats.Scores{out}, name, nil
}

// draw draws a policy's line and band over windows.
func draw(p *chart.Panel, s chart.Style, e []suite.Estimate) {
	x, mid, lo, hi := make([]float64, len(e)), make([]float64, len(e)), make([]float64, len(e)), make([]float64, len(e))
	for t, v := range e {
		x[t], mid[t], lo[t], hi[t] = float64(t+1), v.At, v.Lo, v.Hi
	}
	p.Band(s, x, lo, hi)
	p.Line(s, x, mid, false)
}

// level draws a value of the paper's along windows.
func level(p *chart.Panel, s chart.Style, windows int, y float64) {
	p.Line(s, []float64{1, float64(windows)}, []float64{y, y}, false)
}

// ring is a style for a value of the paper's.
func ring(s chart.Style) chart.Style {
	s.Glyph = chart.Bound().Glyph
	return s
}

func exactly(x float64) chart.Range { return chart.Range{At: x, Low: x, High: x} }
