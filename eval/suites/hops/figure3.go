package hops

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

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
	f := suite.Figure{
		Name: "fig3-tiers",
		Caption: "Fig. 3: HOPS' tier shares, prices and baselines. Bands are 95 % intervals over seeds; " +
			"dashed lines are the paper's final values.",
		Chart: &chart.Figure{Columns: len(quantities), Width: third, Height: height},
		Columns: table.Head("workload", "tier", "window", "share [% of jobs]", "price [money per billing unit]",
			"baseline [vGPUs]"),
	}
	for tier := range 3 {
		f.Chart.Key = append(f.Chart.Key, chart.Entry{Text: fmt.Sprintf("tier %d", tier+1), Style: chart.Styles(tier),
			Line: true, Band: true})
	}
	f.Chart.Key = append(f.Chart.Key,
		chart.Entry{Text: "the paper's final value, in the tier's colour", Style: faded(chart.Common()), Line: true})
	for _, m := range mains {
		bands := make([][3][]table.Estimate, 3)
		for k, q := range quantities {
			panel := chart.NewPanel(m.world.name, "window", q.label)
			panel.TicksX(5)
			if q.name != "price" {
				panel.RangeY(0, 0)
			}
			for tier := range 3 {
				name := fmt.Sprintf("%s_%d", q.name, tier+1)
				band := suite.Band(m.series(0, name, q.factor))
				bands[tier][k] = band
				suite.Line(panel, chart.Styles(tier), windows(band), band)
				ends, y := []float64{1, float64(m.world.config.Windows)}, q.paper[tier]
				panel.Line(faded(chart.Styles(tier)), ends, []float64{y, y}, false)
				r.Measured(suite.Row{
					Figure: q.row + ", " + m.world.name, Quantity: fmt.Sprintf("%s, tier %d", q.name, tier+1), Unit: q.unit,
					Paper: new(y), Note: fmt.Sprintf("mean of the last %d windows", tail),
				}, m.final(0, name, q.factor))
			}
			f.Chart.Panels = append(f.Chart.Panels, panel)
		}
		for tier, b := range bands {
			for t := range b[0] {
				f.Rows = append(f.Rows, []any{m.world.name, tier + 1, t + 1, b[0][t], b[1][t], b[2][t]})
			}
		}
	}
	r.Figure(f)
}

// faded is a style with the paper's dashes.
func faded(s chart.Style) chart.Style {
	s.Dashes = chart.Bound().Dashes
	return s
}
