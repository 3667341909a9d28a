package atmiss

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/eval/table"
)

// Curves is the table of all settings: the data of a plot of price against misses.
func (r *Result) Curves(name, unit string) *table.Table {
	t := &table.Table{Name: name, Title: "Misses and cost of each method at each setting", Columns: []table.Column{
		{Name: "method"}, {Name: "setting"}, {Name: "value"}, {Name: "missed", Unit: "1"}, {Name: "cost", Unit: unit}}}
	for _, o := range r.Outcomes {
		t.Rows = append(t.Rows, []any{o.Method, o.Setting, o.Value, table.Of(o.Missed), table.Of(o.Cost)})
	}
	return t
}

// Table is the table of the costs at equal misses.
func (r *Result) Table(name, unit string) *table.Table {
	t := &table.Table{Name: name, Title: fmt.Sprintf("Cost at equal misses, %d requests", r.Requests),
		Columns: []table.Column{{Name: "missed", Unit: "%"}, {Name: "method"}, {Name: "cost", Unit: unit},
			{Name: "below " + r.Reference, Unit: "%"}}}
	for _, x := range r.Readings {
		below := x.Below
		below.Point, below.Low, below.High = 100*below.Point, 100*below.Low, 100*below.High
		t.Rows = append(t.Rows, []any{100 * x.Level, x.Method, table.Of(x.Cost), table.Of(below)})
	}
	return t
}

// Markdown is that table for a page: levels as columns, a row per method, with the difference from the reference as a
// share of that, and its interval.
func (r *Result) Markdown() string {
	var levels []float64
	var methods []string
	cell := map[string]string{}
	for _, x := range r.Readings {
		if len(levels) == 0 || levels[len(levels)-1] != x.Level {
			levels = append(levels, x.Level)
		}
		if len(levels) == 1 {
			methods = append(methods, x.Method)
		}
		text := "never"
		if table.Finite(x.Cost.Point) {
			text = fmt.Sprintf("%.4g", x.Cost.Point)
			if table.Finite(x.Below.Point) && x.Method != r.Reference {
				text += fmt.Sprintf(" (%+.1f %% [%+.1f, %+.1f])", -100*x.Below.Point, -100*x.Below.High, -100*x.Below.Low)
			}
		}
		cell[fmt.Sprint(x.Level, x.Method)] = strings.ReplaceAll(text, "-", "−")
	}
	rows := [][]string{{"method"}}
	for _, l := range levels {
		rows[0] = append(rows[0], fmt.Sprintf("%g %% missed", 100*l))
	}
	for _, m := range methods {
		row := []string{m}
		for _, l := range levels {
			row = append(row, cell[fmt.Sprint(l, m)])
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	table.Markdown(&b, rows)
	return b.String()
}
