package report

import (
	"github.com/stoker-rl/stoker/internal/chart"
)

// Figure is a chart with the numbers that it shows.
type Figure struct {
	// Name is that of the files, without an extension. Caption says what is to be seen.
	Name, Caption string
	Chart         *chart.Figure
	// Columns and Rows are the data, as in a [Table].
	Columns []Column
	Rows    [][]any
}

// NewFigure begins a figure of a name: a chart without panels, and the head of its data.
func NewFigure(name, caption string, c chart.Figure, head ...string) *Figure {
	return &Figure{Name: name, Caption: caption, Chart: &c, Columns: Head(head...)}
}

// Data is the table of what the figure shows.
func (f *Figure) Data() Table { return Table{Name: f.Name, Columns: f.Columns, Rows: f.Rows} }

// Panel adds a panel with labels on its axes.
func (f *Figure) Panel(title, x, y string) *chart.Panel {
	p := chart.NewPanel(title, x, y)
	f.Chart.Panels = append(f.Chart.Panels, p)
	return p
}

// Key adds names to the key, each in the style of its place, drawn as e is.
func (f *Figure) Key(e chart.Entry, names ...string) {
	for _, name := range names {
		e.Text, e.Style = name, chart.Styles(len(f.Chart.Key))
		f.Chart.Key = append(f.Chart.Key, e)
	}
}

// Row adds a row of data. An estimate takes three columns: the value and both bounds.
func (f *Figure) Row(cells ...any) {
	var row []any
	for _, c := range cells {
		if e, ok := c.(Estimate); ok {
			row = append(row, e.At, e.Low, e.High)
		} else {
			row = append(row, c)
		}
	}
	f.Rows = append(f.Rows, row)
}

// Band draws an estimate for every x as a line within the band of their intervals, and adds a row of data for each: what
// row makes of the estimate at the k-th x.
func (f *Figure) Band(p *chart.Panel, s chart.Style, x []float64, at func(k int) Estimate, row func(k int, e Estimate) []any) {
	all := make([]Estimate, len(x))
	for k := range x {
		all[k] = at(k)
		f.Row(row(k, all[k])...)
	}
	Line(p, s, x, all)
}

// Line draws estimates over x as a line within the band of their intervals.
func Line(p *chart.Panel, s chart.Style, x []float64, e []Estimate) {
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
