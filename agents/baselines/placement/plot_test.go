package placement

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
)

// drawSweep draws four quantities of each rule over the load, with 95 % intervals as bands.
func drawSweep(t *testing.T, dir string) {
	t.Helper()
	rows, number := loads(t, dir)
	figure := &chart.Figure{Title: "Rules of unlike nodes over the load: means of 60 episodes with 95 % intervals", Columns: 2, Width: 420, Height: 280}
	var policies []string
	for _, r := range rows {
		if !slices.Contains(policies, r[2]) {
			policies = append(policies, r[2])
			figure.Key = append(figure.Key, chart.Entry{Text: r[2], Style: chart.Styles(len(policies) - 1), Line: true})
		}
	}
	for _, quantity := range []string{"slowdown", "utilisation", "violations", "cold share"} {
		panel := chart.NewPanel("", "load", quantity)
		if quantity == "slowdown" {
			panel.LogY()
		}
		for i, policy := range policies {
			var x, y, lo, hi []float64
			for _, r := range rows {
				if r[2] != policy || r[3] != quantity {
					continue
				}
				mean, half := number(r[4]), 1.96*number(r[5])
				x, y, lo, hi = append(x, number(r[1])), append(y, mean), append(lo, mean-half), append(hi, mean+half)
			}
			panel.Band(chart.Styles(i), x, lo, hi)
			panel.Line(chart.Styles(i), x, y, false)
		}
		figure.Panels = append(figure.Panels, panel)
	}
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
