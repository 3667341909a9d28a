package sim

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

// panels of the plot, in rows of two: which quantity of which queues.
var panels = []struct {
	title, quantity string
	queues          []string
}{
	{"one, three and twenty servers", "mean wait (s)", []string{"M/M/1", "M/M/3", "M/M/20"}},
	{"one server, other laws of service", "mean wait (s)", []string{"M/D/1", "M/Lognormal/1", "M/Gamma/1"}},
	{"limited room, and ten users in a closed loop", "mean wait (s)", []string{"M/M/3/7", "M/M/3//10"}},
	{"limited room", "probability of loss", []string{"M/M/8/8", "M/M/3/7"}},
}

// draw draws theory as lines and the simulation, from the folder's queues.csv, as dots; below, their difference with
// its intervals.
func draw(t *testing.T, dir string) {
	t.Helper()
	data := must.Get(os.Open(filepath.Join(dir, "queues.csv")))(t)
	defer data.Close()
	rows := must.Get(csv.NewReader(data).ReadAll())(t)
	f := &chart.Figure{
		Title:   "Simulated (dots) and in theory (lines); below, the difference, with intervals that hold together with 95 %",
		Columns: 2, Width: 330, Height: 190,
	}
	var known []string
	for i := 0; i < len(panels); i += 2 {
		var below []*chart.Panel
		for _, d := range panels[i : i+2] {
			above := chart.NewPanel(d.title, "", d.quantity)
			above.LogY()
			off := chart.NewPanel("", "load offered", "simulated beyond theory (%)")
			for j, name := range d.queues {
				if !slices.Contains(known, name) {
					known = append(known, name)
					f.Key = append(f.Key, chart.Entry{Text: name, Style: chart.Styles(len(known) - 1), Line: true, Dot: true})
				}
				style := chart.Styles(slices.Index(known, name))
				x, y := curve(t, name, d.quantity)
				above.Line(style, x, y, false)
				off.Line(chart.Common(), []float64{x[0], x[len(x)-1]}, []float64{0, 0}, false)
				for _, row := range rows {
					if row[0] != name || row[3] != d.quantity {
						continue
					}
					load, got, half, want := number(t, row[1]), number(t, row[4]), number(t, row[5]), number(t, row[6])
					above.Cross(style, point(load), point(got))
					beside := load + 0.008*float64(j-1) // so that intervals at one load don't cover one another
					off.Cross(style, point(beside), chart.Range{At: 100 * (got/want - 1), Low: 100 * ((got-half)/want - 1),
						High: 100 * ((got+half)/want - 1)})
				}
			}
			f.Panels = append(f.Panels, above)
			below = append(below, off)
		}
		f.Panels = append(f.Panels, below...)
	}
	if _, err := f.Save(dir, "queues"); err != nil {
		t.Error(err)
	}
}

func point(x float64) chart.Range { return chart.Range{At: x, Low: x, High: x} }

// curve is what theory says of a queue around the loads at which it is run.
func curve(t *testing.T, name, quantity string) (x, y []float64) {
	t.Helper()
	i := slices.IndexFunc(queues, func(q queue) bool { return q.name == name })
	for k := range quantities {
		if i >= 0 && quantities[k].name == quantity {
			loads := queues[i].loads
			for load := loads[0] - 0.04; load < loads[len(loads)-1]+0.02; load += 0.01 {
				x, y = append(x, load), append(y, queues[i].theory(&queues[i], load)[k])
			}
			return x, y
		}
	}
	t.Fatalf("there is no %s of %s", quantity, name)
	return nil, nil
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x := must.Get(strconv.ParseFloat(s, 64))(t)
	return x
}
