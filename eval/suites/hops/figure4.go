package hops

import (
	"math"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

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
	f := suite.Figure{
		Name: "fig4-switches-and-utilisation",
		Caption: "Fig. 4: switches as the paper charges them (keep-alive vGPUs only, for policies that have such), all " +
			"changes of function counted alike, and utilisation. Bars are 95 % intervals over seeds, rings the paper's " +
			"values.",
		Chart:   &chart.Figure{Columns: len(quantities), Width: third, Height: vg.Length(40 + 17*len(mains[0].policies))},
		Columns: table.Head("workload", "policy", "charged switches", "all changes of function", "utilisation [% of vGPUs]"),
	}
	papers := suite.Ring(chart.Common())
	f.Chart.Key = []chart.Entry{{Text: "here", Style: chart.Common(), Dot: true, Line: true},
		{Text: "the paper", Style: papers, Dot: true}}
	for _, m := range mains {
		cells := make([][]any, len(m.policies))
		for k, q := range quantities {
			panel := chart.NewPanel(m.world.name, q.label, "")
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
			f.Chart.Panels = append(f.Chart.Panels, panel)
		}
		for i, p := range m.policies {
			f.Rows = append(f.Rows, append([]any{m.world.name, p.name}, cells[i]...))
		}
	}
	r.Figure(f)
}
