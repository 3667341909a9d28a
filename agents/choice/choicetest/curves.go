package choicetest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/proof"
)

// Interval returns the mean of one value per seed and half its 95 % interval (Student's).
func Interval(x []float64) (mean, half float64) {
	mean, sd := stat.MeanStdDev(x, nil)
	n := float64(len(x))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
}

// WriteCurves writes the curves as NAME.csv, a row for each seed and point, to the folder for proofs, if there is one.
func WriteCurves(t testing.TB, name string, curves []Curve) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	rows := [][]string{{"seed", "step", "return"}}
	for _, c := range curves {
		for i, n := range c.Steps {
			rows = append(rows, []string{strconv.FormatUint(c.Seed, 10), strconv.FormatInt(n, 10),
				strconv.FormatFloat(c.Return[i], 'f', 2, 64)})
		}
	}
	f, err := os.Create(filepath.Join(dir, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Mark is a horizontal line in a figure.
type Mark struct {
	Text string
	Y    float64
}

// Draw draws the mean over seeds with its interval, each seed as a thin line, and marks, to the folder for proofs, if
// there is one.
func Draw(t testing.TB, name, title string, curves []Curve, marks ...Mark) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	panel := chart.NewPanel("", "environment steps", fmt.Sprintf("return, last %d training episodes", Window))
	f := &chart.Figure{Title: title, Panels: []*chart.Panel{panel}, Columns: 1, Width: 480, Height: 300}
	var x, mid, lo, hi []float64
	for i, n := range curves[0].Steps {
		var at []float64
		for _, c := range curves {
			at = append(at, c.Return[i])
		}
		mean, half := Interval(at)
		x, mid, lo, hi = append(x, float64(n)), append(mid, mean), append(lo, mean-half), append(hi, mean+half)
	}
	faint := chart.Styles(5)
	for _, c := range curves {
		panel.Line(faint, x, c.Return, false)
	}
	panel.Band(chart.Styles(0), x, lo, hi)
	panel.Line(chart.Styles(0), x, mid, false)
	f.Key = []chart.Entry{
		{Text: fmt.Sprintf("%d seeds' mean with its 95 %% interval", len(curves)), Style: chart.Styles(0), Line: true,
			Band: true},
		{Text: "each seed", Style: faint, Line: true},
	}
	for i, m := range marks {
		s := chart.Styles(2 + i)
		panel.Line(s, []float64{0, x[len(x)-1]}, []float64{m.Y, m.Y}, false)
		f.Key = append(f.Key, chart.Entry{Text: m.Text, Style: s, Line: true})
	}
	if _, err := f.Save(dir, name); err != nil {
		t.Fatal(err)
	}
}
