package eval

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/must"
)

// A pilot's rows have its differences, deviations and units, and power rises with the number of workloads.
func TestPowerOf(t *testing.T) {
	dir, _, s := written(t)
	rows, err := PowerOf(dir, PowerPlan{Training: []int{3}, Workloads: []int{5, 50}, Metrics: []string{"cost"},
		Trials: 100})
	must.Do(t, err)
	if len(rows) != 2*4 {
		t.Fatalf("%d rows, want two for each of four baselines", len(rows))
	}
	r := rows[0]
	mean := float64(s.against("attmf", "cost")[0].Difference)
	if r.A != "attmf" || r.B != "fixed" || r.Unit != "USD" || r.Baselines != 4 || r.TrainingSeeds != 3 ||
		math.Abs(r.Difference-mean) > 1e-12 || !(r.Deviation > 0) || !(r.SeedDeviation >= 0) {
		t.Errorf("row %+v, want a difference of %g", r, mean)
	}
	if !(rows[1].Power >= r.Power) {
		t.Errorf("power %g with 50 workloads, %g with 5", rows[1].Power, r.Power)
	}
	// One training seed: its rows are of one checkpoint, whatever is asked for.
	one, _, _ := writtenSmall(t)
	rows, err = PowerOf(one, PowerPlan{Training: []int{5}, Workloads: []int{5}, Trials: 100})
	if err != nil || len(rows) != 2 || rows[0].TrainingSeeds != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	// Of episodes that drew traces, the traces are the sample.
	p, sum, _ := small(t)
	p.Traces, p.TraceOf = []string{"a", "b", "none"}, []int{1, 0, 1}
	must.Do(t, Write(one, p, sum, nil))
	f := must.Get(report.ReadFile(one, ScoresFile))(t)
	for c, con := range p.Contestants {
		got, want := sampleOf(f, con.Name, ReturnMetric), must.Get(p.Sample(c, ReturnMetric))(t)
		for v := range got {
			slices.Sort(got[v]) // in the order in which they were drawn
			slices.Sort(want[v])
		}
		if len(got) == 0 || len(got[0]) != 2 || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: by trace %v, want %v", con.Name, got, want)
		}
	}
	must.Do(t, os.Remove(filepath.Join(one, ScoresFile)))
	if _, err := PowerOf(one, PowerPlan{Training: []int{1}, Workloads: []int{5}, Trials: 100}); err == nil ||
		!strings.Contains(err.Error(), "scores.csv is missing") {
		t.Errorf("without scores: %v", err)
	}
}
