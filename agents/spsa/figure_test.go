package spsa

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// shown are the windows in a figure: all of the first ones, then fewer and fewer, evenly on a logarithmic axis.
func shown(n int) (at []int) {
	for w := 1.0; int(w) <= n; w *= 1.03 {
		if i := int(w); len(at) == 0 || i > at[len(at)-1] {
			at = append(at, i)
		}
	}
	return append(at, n)
}

// drawPaths draws prices by window: the mean over seeds, the band that holds 95 % of the seeds, and the optimum. It
// also writes the data of the figure.
func drawPaths(t *testing.T, name, title string, best [3]float64, runs []path) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	panel := chart.NewPanel("", "window", "price per billing unit")
	panel.LogX()
	f := &chart.Figure{Title: title, Panels: []*chart.Panel{panel}, Columns: 1, Width: vg.Length(520),
		Height: vg.Length(320)}
	at := shown(len(runs[0]))
	rows := [][]string{{"tier", "window", "mean", "low", "high", "optimum"}}
	for m, tier := range best {
		var x, mid, lo, hi []float64
		for _, w := range at {
			var v []float64
			sum := 0.0
			for _, p := range runs {
				v = append(v, p[w-1][m])
				sum += p[w-1][m]
			}
			slices.Sort(v)
			x, mid = append(x, float64(w)), append(mid, sum/float64(len(v)))
			lo, hi = append(lo, quantile(v, 0.025)), append(hi, quantile(v, 0.975))
			row := []string{strconv.Itoa(m + 1), strconv.Itoa(w)}
			for _, y := range []float64{mid[len(mid)-1], lo[len(lo)-1], hi[len(hi)-1], tier} {
				row = append(row, strconv.FormatFloat(y, 'f', 5, 64))
			}
			rows = append(rows, row)
		}
		s := chart.Styles(m)
		panel.Band(s, x, lo, hi)
		panel.Line(chart.Bound(), []float64{1, x[len(x)-1]}, []float64{tier, tier}, false)
		panel.Line(s, x, mid, false)
		f.Key = append(f.Key, chart.Entry{Text: fmt.Sprintf("tier %d: mean, 95 %% of seeds", m+1), Style: s, Line: true,
			Band: true})
	}
	f.Key = append(f.Key, chart.Entry{Text: "optimum", Style: chart.Bound(), Line: true})
	must.Get(f.Save(dir, name))(t)
	file := must.Get(os.Create(filepath.Join(dir, name+".csv")))(t)
	must.Do(t, errors.Join(csv.NewWriter(file).WriteAll(rows), file.Close()))
}

// quantile of sorted values, between neighbours linearly.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(math.Floor(at))
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}
