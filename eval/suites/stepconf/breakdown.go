package stepconf

import (
	"fmt"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

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
	fig := suite.Figure{Name: "fig22", Caption: "What the time on the critical path is spent with under StepConf.",
		Columns: table.Head("workflow", "limit / fastest", "part", "share [%]", "low", "high")}
	c := &chart.Figure{Title: "Breakdown of the end-to-end time", Columns: len(workflows), Width: 7 * vg.Centimeter,
		Height: 6 * vg.Centimeter, Under: fmt.Sprintf("StepConf, %d requests of each of %d seeds; bands: 95 %% over seeds", w.requests,
			w.seeds)}
	for i, p := range parts {
		c.Key = append(c.Key, chart.Entry{Text: p.name, Style: chart.Styles(i), Line: true})
	}
	for k := range w.models {
		panel := chart.NewPanel(w.worlds[k].String(), "limit / fastest time", "share of the time (%)")
		panel.LogY()
		for i, p := range parts {
			var e []table.Estimate
			for _, factor := range four {
				x := w.estimate(r, k, d, place(factor), p.of)
				e = append(e, x)
				fig.Rows = append(fig.Rows, []any{w.worlds[k].String(), factor, p.name, x.At, x.Low, x.High})
			}
			suite.Line(panel, chart.Styles(i), four, e)
		}
		c.Panels = append(c.Panels, panel)
		measured(r, suite.Row{Figure: "22, " + w.worlds[k].String(), Quantity: "share of decisions at 100 µs each, limit 2 ×", Unit: "%", Paper: &most,
			Note: "the paper: below 1 %; stoker bench decide measures a decision"}, w.by(k, d, place(2), decisionShare))
		measured(r, suite.Row{Figure: "22, " + w.worlds[k].String(), Quantity: "share of mapping, limit 2 ×", Unit: "%"},
			w.by(k, d, place(2), mapping))
	}
	fig.Chart = c
	r.Figure(fig)
}
