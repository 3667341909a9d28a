// Package report writes results: numbers and tables to a terminal, as Markdown and as CSV; whole folders of files; figures
// that hold the numbers which they show. A [Cube] holds measurements along named axes, by workload seed.
//
// Every number of an evaluation and of a suite passes through here, so that both show the same digits: an interval's
// width to two figures, a value without an interval to four. [Estimate] writes itself inside a sentence; [Format]
// writes the numbers of one table alike, with the same decimals and in the same power of a thousand.
//
// What the numbers mean is package eval, how they are computed is package stats, how a chart is drawn is package chart.
package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Column heads a column of a table.
type Column struct {
	Name string
	// Unit may be empty.
	Unit string
}

// Head are columns by name; a unit stands in brackets, as in "load [%]".
func Head(names ...string) []Column {
	var out []Column
	for _, n := range names {
		name, unit, _ := strings.Cut(strings.TrimSuffix(n, "]"), " [")
		out = append(out, Column{name, unit})
	}
	return out
}

// Table is rows under columns. Cells are texts, whole numbers, float64, or [Estimate], which takes three columns in
// CSV.
type Table struct {
	// Name is that of the file, without an extension.
	Name, Title string
	// Note stands below the table.
	Note    string
	Columns []Column
	Rows    [][]any
}

// Check reports the first row that does not fit the columns, and the first cell of another type.
func (t *Table) Check() error {
	if len(t.Columns) == 0 {
		return fmt.Errorf("%s has no columns", t.Name)
	}
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return fmt.Errorf("%s: row %d has %d cells under %d columns", t.Name, i, len(row), len(t.Columns))
		}
		for k, cell := range row {
			switch cell.(type) {
			case string, int, uint64, float64, Estimate:
			default:
				return fmt.Errorf("%s: row %d, %s is a %T, want a text, a number or an Estimate", t.Name, i, t.Columns[k].Name,
					cell)
			}
		}
	}
	return nil
}

// CSV is the table for programs: a column with estimates becomes three.
func (t *Table) CSV() ([]byte, error) {
	three := make([]bool, len(t.Columns))
	for _, row := range t.Rows {
		for k, cell := range row {
			_, ok := cell.(Estimate)
			three[k] = three[k] || ok
		}
	}
	var head []string
	for k, c := range t.Columns {
		name := c.Name
		if c.Unit != "" {
			name += " (" + c.Unit + ")"
		}
		if head = append(head, name); three[k] {
			head = append(head, c.Name+" lo", c.Name+" hi")
		}
	}
	rows := [][]string{head}
	for _, row := range t.Rows {
		var out []string
		for k, cell := range row {
			f := fields(cell)
			if three[k] {
				f = append(f, "", "")[:3]
			}
			out = append(out, f...)
		}
		rows = append(rows, out)
	}
	return CSV(rows)
}

// fields are a cell for programs: three of an estimate, one of anything else; NaN is left empty.
func fields(cell any) []string {
	exact := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return Exact(x)
	}
	switch x := cell.(type) {
	case float64:
		return []string{exact(x)}
	case Estimate:
		return []string{exact(x.At), exact(x.Low), exact(x.High)}
	default:
		return []string{fmt.Sprint(x)}
	}
}

// Markdown writes the table for people, without title and note.
func (t *Table) Markdown(b *strings.Builder) {
	var head []string
	for _, c := range t.Columns {
		name := c.Name
		if c.Unit != "" {
			name += ", " + c.Unit
		}
		head = append(head, name)
	}
	rows := [][]string{head}
	for _, row := range t.Rows {
		rows = append(rows, lists.From(row, shown))
	}
	Markdown(b, rows)
}

// shown is a cell for people.
func shown(cell any) string {
	switch x := cell.(type) {
	case float64:
		if !Finite(x) {
			return missing
		}
		return Plain(x)
	case int:
		return Round(float64(x), 0)
	default:
		return fmt.Sprint(x)
	}
}

// Columns writes rows with their columns aligned, counting characters, not bytes. A row of one cell is a heading and
// may reach over other columns. Ruled draws a line below the first row.
func Columns(rows [][]string, ruled bool) string {
	var width []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			if len(r) > 1 {
				width[i] = max(width[i], utf8.RuneCountInString(cell))
			}
		}
	}
	var b strings.Builder
	for k, r := range rows {
		line := ""
		for i, cell := range r {
			line += cell + strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(cell))+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if k == 0 && ruled {
			total := 2 * (len(width) - 1)
			for _, w := range width {
				total += w
			}
			b.WriteString(strings.Repeat("─", total) + "\n")
		}
	}
	return b.String()
}

// Markdown writes a Markdown table, the first row of which is its head.
func Markdown(b *strings.Builder, rows [][]string) {
	for k, r := range rows {
		b.WriteString("|")
		for _, cell := range r {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteString("\n")
		if k == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(r)) + "\n")
		}
	}
}

// CSV is rows, the first of them the head, as the text of a CSV file.
func CSV(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(rows)
	return b.Bytes(), err
}

// JSON is a value as the text of a file: indented, with a newline at the end.
func JSON(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}

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
