package report_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/eval/report"
)

// A folder lists what it holds in the order of writing, and writes nothing after an error.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f := report.Into(dir)
	f.JSON("a.json", report.Number(math.NaN()))
	f.CSV("none.csv", [][]string{{"x"}})
	f.CSV("b.csv", [][]string{{"x", "y"}, report.Cells("u", 1.5)})
	names, err := f.Files()
	if want := []string{"a.json", "b.csv"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("wrote %v (%v), want %v", names, err, want)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "b.csv")); err != nil || string(b) != "x,y\nu,1.5\n" {
		t.Errorf("b.csv is %q (%v)", b, err)
	}
	bad := errors.New("bad")
	f.Write("c.txt", nil, bad)
	f.JSON("d.json", 1)
	if names, err := f.Files(); !errors.Is(err, bad) || len(names) != 2 {
		t.Errorf("wrote %v (%v) after an error", names, err)
	}
}

// A row for programs has every digit of a number; only a missing Number is left empty.
func TestCells(t *testing.T) {
	got := report.Cells("a", 7, uint64(8), true, 0.1, report.Number(math.NaN()), report.Number(2), report.Estimate{1, math.NaN(), 3}, []string{"b", "c"})
	if want := []string{"a", "7", "8", "true", "0.1", "", "2", "1", "NaN", "3", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
