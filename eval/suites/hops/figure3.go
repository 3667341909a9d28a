package hops

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// figure3 is HOPS' tiers over windows: shares, prices and baselines.
func figure3(r *suite.Report, mains []*match) error {
	quantities := []struct {
		name, label, row, unit string
		factor                 float64
		paper                  []float64
	}{
		{"share", "share of jobs (%)", "3a", "% of jobs", 100, paperShares},
		{"price", "price (money per billing unit)", "3b", "money per billing unit", 1, paperPrices},
		{"baseline", "keep-alive vGPUs", "3c", "vGPUs", 1, paperBaselines},
	}
	f := suite.Figure{
		Name:    "fig3-tiers",
		Caption: "Fig. 3: HOPS' tier shares, prices and baselines. Bands are 95 % intervals over seeds; dashed lines are the paper's final values.",
		Chart:   &chart.Figure{Columns: len(quantities), Width: third, Height: height},
		Columns: []suite.Column{{Name: "workload"}, {Name: "tier"}, {Name: "window"}, {Name: "share", Unit: "% of jobs"}, {Name: "price", Unit: "money per billing unit"}, {Name: "baseline", Unit: "vGPUs"}},
	}
	for tier := range 3 {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: fmt.Sprintf("tier %d", tier+1), Style: style(tier), Line: true, Band: true})
	}
	f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: "the paper's final value, in the tier's colour", Style: faded(chart.Common()), Line: true})
	for _, m := range mains {
		bands := make([][3][]suite.Estimate, 3)
		for k, q := range quantities {
			panel := chart.NewPanel(m.world.name, "window", q.label)
			panel.TicksX(5)
			if q.name != "price" {
				panel.RangeY(0, 0)
			}
			for tier := range 3 {
				name := fmt.Sprintf("%s_%d", q.name, tier+1)
				series, err := m.series(0, name, q.factor)
				if err != nil {
					return err
				}
				bands[tier][k] = suite.Band(series)
				draw(panel, style(tier), bands[tier][k])
				level(panel, faded(style(tier)), m.world.config.Windows, q.paper[tier])
				end, err := m.final(0, name, q.factor)
				if err != nil {
					return err
				}
				r.Measured(suite.Row{
					Figure: q.row + ", " + m.world.name, Quantity: fmt.Sprintf("%s, tier %d", q.name, tier+1), Unit: q.unit, Paper: new(q.paper[tier]),
					Note: fmt.Sprintf("mean of the last %d windows", tail),
				}, end)
			}
			f.Chart.Panels = append(f.Chart.Panels, panel)
		}
		for tier := range bands {
			for t := range bands[tier][0] {
				f.Rows = append(f.Rows, []any{m.world.name, tier + 1, t + 1, bands[tier][0][t], bands[tier][1][t], bands[tier][2][t]})
			}
		}
	}
	r.Figure(f)
	return nil
}

// faded is a style with the paper's dashes.
func faded(s chart.Style) chart.Style {
	s.Dashes = chart.Bound().Dashes
	return s
}
