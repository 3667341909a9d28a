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

// draw draws estimates over x as a line in a band.
func draw(p *chart.Panel, s chart.Style, x []float64, e []suite.Estimate) {
	mid, lo, hi := make([]float64, len(e)), make([]float64, len(e)), make([]float64, len(e))
	for k, v := range e {
		mid[k], lo[k], hi[k] = v.At, v.Lo, v.Hi
	}
	p.Band(s, x, lo, hi)
	p.Line(s, x, mid, false)
}

// ring is a value of the paper's, in a policy's colour.
func ring(p *chart.Panel, s chart.Style, x, lo, hi float64) {
	s.Glyph = chart.Bound().Glyph
	p.Cross(s, exactly(x), chart.Range{At: (lo + hi) / 2, Low: lo, High: hi})
}

func exactly(x float64) chart.Range { return chart.Range{At: x, Low: x, High: x} }
