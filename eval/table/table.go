package table

import (
	"fmt"
	"math"
	"strings"
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
		var out []string
		for _, cell := range row {
			out = append(out, shown(cell))
		}
		rows = append(rows, out)
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
