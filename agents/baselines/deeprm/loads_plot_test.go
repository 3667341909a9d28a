package deeprm

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
)

// draw draws each rule's mean slowdown over the load with its interval as lines and the reference as dots; beside it,
// their difference in standard errors.
func draw(t *testing.T, dir string) {
	t.Helper()
	rows, number := loads(t, dir)
	figure := &chart.Figure{
		Title:   "Mean slowdown over 5,000 job sequences (lines) and over 100 of another implementation (dots, with 95 % intervals)",
		Columns: 2, Width: 420, Height: 320,
	}
	left, right := chart.NewPanel("", "load", "mean slowdown"), chart.NewPanel("", "load", "difference in standard errors")
	left.RangeY(0, 34)
	right.RangeY(-3.5, 3.5)
	for _, z := range []float64{-3, 0, 3} {
		right.Line(chart.Common(), []float64{0.1, 1.9}, []float64{z, z}, false)
	}
	for p, r := range rules {
		style := chart.Styles(p)
		var x, y, zs []float64
		for _, row := range rows {
			if row[2] != r.name {
				continue
			}
			load, mean, deviation, other := number(row[1]), number(row[3]), number(row[4]), number(row[7])
			x, y, zs = append(x, load), append(y, mean), append(zs, number(row[8]))
			half := 1.96 * deviation / math.Sqrt(referenceSets)
			at := load + 0.012*float64(p-2) // so that intervals at one load don't overlap
			left.Cross(style, exactly(at), chart.Range{At: other, Low: other - half, High: other + half})
			right.Cross(style, exactly(load), exactly(number(row[8])))
		}
		left.Line(style, x, y, false)
		right.Line(style, x, zs, false)
		figure.Key = append(figure.Key, chart.Entry{Text: r.name, Style: style, Line: true, Dot: true})
	}
	figure.Panels = []*chart.Panel{left, right}
	if _, err := figure.Save(dir, "loads"); err != nil {
		t.Error(err)
	}
}

// loads returns the rows of a folder's loads.csv without the header, and a function that parses their numbers.
func loads(t *testing.T, dir string) (rows [][]string, number func(s string) float64) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "loads.csv"))
	must.Do(t, err)
	defer f.Close()
	if rows, err = csv.NewReader(f).ReadAll(); err != nil || len(rows) == 0 {
		t.Fatalf("%s has %d rows: %v", f.Name(), len(rows), err)
	}
	return rows[1:], func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		must.Do(t, err)
		return x
	}
}

func exactly(x float64) chart.Range { return chart.Range{At: x, Low: x, High: x} }
