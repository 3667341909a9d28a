package report_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/eval/report"

	"github.com/stoker-rl/stoker/internal/chart"
)

// A place of a cube has a value for each seed; a part shares them, and a seed sees all places in order.
func TestCube(t *testing.T) {
	c := report.NewCube[float64](2, report.Axis{"policy", 2}, report.Axis{"load", 3})
	for p := range 2 {
		for l := range 3 {
			for s := range 2 {
				c.At(p, l)[s] = float64(100*p + 10*l + s)
			}
		}
	}
	part := c.Select(1)
	part.At(2)[0]++
	for _, x := range []struct{ got, want []float64 }{
		{c.At(1, 2), []float64{121, 121}}, {c.Seed(1), []float64{1, 11, 21, 101, 111, 121}}, {part.Seed(0), []float64{100, 110, 121}},
		{c.Of(func(x *float64) float64 { return 2 * *x }, 1, 0), []float64{200, 202}},
		{report.Ratio(c.At(1, 0), c.At(0, 1)), []float64{10, 101.0 / 11}}, {report.Change([]float64{3}, []float64{2}), []float64{50}},
	} {
		if !slices.Equal(x.got, x.want) {
			t.Errorf("%v, want %v", x.got, x.want)
		}
	}
	if c.Seeds() != 2 {
		t.Errorf("%d seeds, want 2", c.Seeds())
	}
	for _, bad := range [][]int{{1}, {0, 3}, {-1, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("there is a place %v", bad)
				}
			}()
			c.At(bad...)
		}()
	}
}

// A figure has a row of data for each point that it draws, with an estimate in three columns.
func TestFigure(t *testing.T) {
	f := report.NewFigure("f", "What it shows.", chart.Figure{Columns: 1}, "policy", "load [%]", "cost", "low", "high")
	f.Key(chart.Entry{Line: true}, "a", "b")
	p := f.Panel("", "load (%)", "cost")
	f.Band(p, chart.Styles(0), []float64{10, 20}, func(k int) report.Estimate { return report.Estimate{float64(k), float64(k) - 1, float64(k) + 1} },
		func(k int, e report.Estimate) []any { return []any{"a", 10 * (k + 1), e} })
	data := f.Data()
	if err := data.Check(); err != nil {
		t.Error(err)
	}
	if b, err := data.CSV(); err != nil || string(b) != "policy,load (%),cost,low,high\na,10,0,-1,1\na,20,1,0,2\n" {
		t.Errorf("%q (%v)", b, err)
	}
	if key := f.Chart.Key; len(f.Chart.Panels) != 1 || len(key) != 2 || key[1].Text != "b" || !key[1].Line ||
		!reflect.DeepEqual(key[1].Style, chart.Styles(1)) {
		t.Errorf("%+v", f.Chart)
	}
}
