package report_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/report"

	"github.com/stoker-rl/stoker/internal/must"
)

// Numbers of one table have the same decimals and power of a thousand; what is not finite is n/a.
func TestFormat(t *testing.T) {
	for _, c := range []struct {
		values []report.Estimate
		signed bool
		unit   string
		want   []string
	}{
		{[]report.Estimate{{0.4, 0.38, 0.42}, {12, 11, 13}}, false, "s",
			[]string{"0.400 [0.380, 0.420]", "12.000 [11.000, 13.000]", "s"}},
		{[]report.Estimate{{0.4, 0.38, 0.42}, {12.5, 12.5, 12.5}}, true, "s",
			[]string{"+0.400 [+0.380, +0.420]", "+12.500 [+12.500, +12.500]", "s"}},
		{[]report.Estimate{{1.234e-5, 1.1e-5, 1.4e-5}}, false, "USD", []string{"12.3 [11.0, 14.0]", "10⁻⁶ USD"}},
		{[]report.Estimate{{1.234e7, 1.1e7, 1.4e7}, {0, 0, 0}}, false, "1", []string{"12.3 [11.0, 14.0]", "0.0 [0.0, 0.0]", "10⁶"}},
		{[]report.Estimate{{0.012, 0.012, 0.012}}, false, "1", []string{"0.01200 [0.01200, 0.01200]", ""}},
		{[]report.Estimate{{0, 0, 0}}, true, "", []string{"0 [0, 0]", ""}},
		{[]report.Estimate{{-0.0001, -0.01, 0.01}}, true, "", []string{"0.000 [-0.010, +0.010]", ""}},
		{[]report.Estimate{{math.NaN(), math.NaN(), math.NaN()}, {math.Inf(1), 1, 2}, {5, 4, math.Inf(1)}}, false, "",
			[]string{"n/a", "n/a", "5.000 [4.000, n/a]", ""}},
		{[]report.Estimate{{73359.123, 68264, 79917}}, false, "", []string{"73359 [68264, 79917]", ""}},
	} {
		f := report.Fit(c.values, report.Power(c.values), c.signed)
		for i, v := range c.values {
			if got := f.Cell(v, false); got != c.want[i] {
				t.Errorf("%v is %q, want %q", v, got, c.want[i])
			}
			if got := strings.Join(strings.Fields(strings.ReplaceAll(f.Aligned(v, false), "[", "[ ")), ""); got != strings.ReplaceAll(c.want[i], " ", "") {
				t.Errorf("%v in a row is %q, want %q but for spaces", v, got, c.want[i])
			}
		}
		if got := f.Unit(c.unit); got != c.want[len(c.values)] {
			t.Errorf("unit %q, want %q", got, c.want[len(c.values)])
		}
	}
	for p, want := range map[float64]string{
		1: "1.00", 0.5: "0.50", 0.0996: "0.10", 0.04321: "0.043", 0.001: "0.001", 0.00099: "<0.001", math.NaN(): "n/a",
	} {
		if got := report.PValue(p); got != want {
			t.Errorf("p of %g is %q, want %q", p, got, want)
		}
	}
}

// A number in a sentence has two figures of its interval's width, or four of its own.
func TestEstimate(t *testing.T) {
	nan := math.NaN()
	for want, e := range map[string]report.Estimate{
		"671,000 (660,000 to 682,000)": {671234, 660100, 682300}, "0.162 (0.150 to 0.173)": {0.1617, 0.1502, 0.1731},
		"−4.0 (−5.5 to 0.0)": {-4.01, -5.52, -0.001}, "1,234": {1234.4, nan, nan}, "0.001235": {0.00123456, nan, nan},
		"n/a": {nan, 1, 2}, "0": {0, nan, nan},
	} {
		if got := e.String(); got != want {
			t.Errorf("%v is %q, want %q", e, got, want)
		}
	}
	for want, x := range map[string]float64{
		"670,000": 6.7e5, "52.27": 52.2727, "1.5": 1.5, "10,550": 10550, "−0.25": -0.25, "0": 0,
	} {
		if got := report.Plain(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
}

// A table that does not fit its columns is refused by the row and the column; one that does has three columns in CSV
// for a column of estimates.
func TestTable(t *testing.T) {
	two := []report.Column{{Name: "a"}, {Name: "b", Unit: "s"}}
	for want, bad := range map[string]report.Table{
		"table t has no columns":                           {Name: "table t"},
		"t: row 1 has 1 cells under 2 columns":             {Name: "t", Columns: two, Rows: [][]any{{1, 2}, {1}}},
		"t: row 0, b is a []int, want a text, a number or": {Name: "t", Columns: two, Rows: [][]any{{1, []int{1}}}},
	} {
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	good := report.Table{Columns: two, Rows: [][]any{{"x", report.Estimate{2, 1, 3}}, {1500, 0.25}, {uint64(7), math.NaN()}}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	b, err := good.CSV()
	if want := "a,b (s),b lo,b hi\nx,2,1,3\n1500,0.25,,\n7,,,\n"; err != nil || string(b) != want {
		t.Errorf("%q (%v), want %q", b, err, want)
	}
	var page strings.Builder
	good.Markdown(&page)
	if want := "| a | b, s |\n|---|---|\n| x | 2.0 (1.0 to 3.0) |\n| 1,500 | 0.25 |\n| 7 | n/a |\n"; page.String() != want {
		t.Errorf("%q, want %q", page.String(), want)
	}
}

// What was written is read back by column; a file without rows is removed, and a missing one is no error.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, report.WriteFile(dir, "a.csv", [][]string{{"name", "x"}, {"one, two", "1.5"}}))
	f := must.Get(report.ReadFile(dir, "a.csv"))(t)
	row := f.Rows[0]
	if f.Text(row, "name") != "one, two" || f.Number(row, "x") != 1.5 || f.Text(row, "y") != "" ||
		!math.IsNaN(f.Number(row, "name")) {
		t.Errorf("read back %+v", f)
	}
	must.Do(t, report.WriteFile(dir, "a.csv", [][]string{{"name", "x"}}))
	if f, err := report.ReadFile(dir, "a.csv"); f != nil || err != nil {
		t.Errorf("a file without rows is left: %v, %v", f, err)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "empty.csv"), nil, 0o600))
	if _, err := report.ReadFile(dir, "empty.csv"); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty file: %v", err)
	}
}
