package gnn

import (
	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/chart"
)

// Sizes of panels, in points.
const (
	half   = vg.Length(280)
	third  = vg.Length(205)
	height = vg.Length(185)
)

// key names players.
func key(players []player) []chart.Entry {
	var out []chart.Entry
	for i := range players {
		out = append(out, chart.Entry{Text: players[i].Name, Style: chart.Styles(i), Line: true, Band: true})
	}
	return out
}

// ring marks a value of the paper's, or a range of values, in a policy's colour.
func ring(p *chart.Panel, s chart.Style, x, lo, hi float64) {
	p.Cross(suite.Ring(s), chart.Exactly(x), chart.Range{At: (lo + hi) / 2, Low: lo, High: hi})
}
