package explain

import (
	"fmt"

	"github.com/stoker-rl/stoker/internal/chart"
	"gonum.org/v1/plot/vg"
)

// figure draws the features' shares, own and others', as bars with intervals, and beside them the return that shuffling
// loses.
func (e *Explanation) figure() *chart.Figure {
	own, others, lost := chart.Styles(0), chart.Styles(1), chart.Styles(2)
	f := &chart.Figure{
		Title: fmt.Sprintf("What drives %s's decisions in %s", e.Policy, e.Env), Columns: 1, Width: 420,
		Height: vg.Length(50 + 30*len(e.Features)),
		Key: []chart.Entry{{Text: "of the deciding agent", Style: own, Dot: true, Band: true},
			{Text: "of others", Style: others, Dot: true, Band: true}},
	}
	if e.tooFew() != "" {
		f.Title += fmt.Sprintf(": %d episodes rank nothing", e.Episodes)
	}
	names := make([]string, len(e.Features))
	shares := chart.NewPanel("", "share of integrated gradients", "")
	var cost *chart.Panel
	if len(e.Features) > 0 && e.Features[0].Lost != nil {
		cost = chart.NewPanel("", "return lost where shuffled", "")
		f.Columns, f.Width = 2, 330
		f.Key = append(f.Key, chart.Entry{Text: "shuffled while playing", Style: lost, Dot: true, Band: true})
	}
	for i, x := range e.Features {
		names[i] = x.Name
		if x.Unit != "" {
			names[i] += " (" + x.Unit + ")"
		}
		bar(shares, own, float64(-i)+0.2, x.Own)
		if x.Others != (Interval{}) {
			bar(shares, others, float64(-i)-0.2, x.Others)
		}
		if cost != nil {
			bar(cost, lost, float64(-i), *x.Lost)
		}
	}
	shares.Names(names, false)
	f.Panels = []*chart.Panel{shares}
	if cost != nil {
		cost.Names(names, true)
		f.Panels = append(f.Panels, cost)
	}
	return f
}

// bar draws a bar from 0 at height y, and its interval.
func bar(p *chart.Panel, s chart.Style, y float64, i Interval) {
	p.Band(s, []float64{min(0, i.Value), max(0, i.Value)}, []float64{y - 0.17, y - 0.17}, []float64{y + 0.17, y + 0.17})
	p.Cross(s, chart.Range{At: i.Value, Low: i.Low, High: i.High}, chart.Exactly(y))
}
