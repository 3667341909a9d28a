package suite

import (
	"bytes"

	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// Line draws estimates over x as a line within the band of their intervals.
func Line(p *chart.Panel, s chart.Style, x []float64, e []table.Estimate) {
	mid, low, high := make([]float64, len(e)), make([]float64, len(e)), make([]float64, len(e))
	for k, v := range e {
		mid[k], low[k], high[k] = v.At, v.Low, v.High
	}
	p.Band(s, x, low, high)
	p.Line(s, x, mid, false)
}

// Ring is a style for a paper's value, in the colour of what it is compared with.
func Ring(s chart.Style) chart.Style {
	s.Glyph = chart.Bound().Glyph
	return s
}

// drawn is a figure as the bytes of a PNG file.
func drawn(f *chart.Figure) ([]byte, error) {
	var b bytes.Buffer
	err := f.CompactPNG(&b, dpi)
	return b.Bytes(), err
}
