package published

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
	"github.com/stoker-rl/stoker/tools/proof"
)

func compile(t testing.TB, app variants.App) *variants.Model {
	t.Helper()
	m := must.Get(app.Compile())(t)
	return m
}

func open(t testing.TB, path ...string) *os.File {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(path...)))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// The 144 configurations of the acyclic application cost, take and score what OptiServe's program printed.
func TestTruth(t *testing.T) {
	rows := must.Get(ReadTruth(open(t, realdata.Dir(t), "optiserve", "acyclic_ground_truth_144.csv")))(t)
	if len(rows) != 144 {
		t.Fatalf("%d rows, want 144", len(rows))
	}
	m := compile(t, Small(false))
	different := 0
	for i, r := range rows {
		choice := make([]int, 2)
		for f := range choice {
			from, to := m.VariantOptions(f, r.Variants[f])
			for c := from; c < to; c++ {
				if m.Options[f][c].MB == r.MB[f] {
					choice[f] = c
				}
			}
			if got := m.Variants[f][r.Variants[f]].Accuracy; math.Abs(got-r.Accuracy[f]) > 1e-15 {
				t.Errorf("row %d: variant %d of function %d has accuracy %v, published %v", i+1, r.Variants[f], f+1, got, r.Accuracy[f])
			}
		}
		if got := m.Evaluate(choice); math.Abs(got.USD-r.USD) > 1e-9 || math.Abs(got.Seconds-r.Seconds) > 1e-12 {
			t.Logf("row %d: %v, published %v USD and %v s", i+1, got, r.USD, r.Seconds)
			different++
		}
	}
	proof.Claim(t, proof.Row{Topic: "environments", Claim: "OptiServe's table of all configurations of its acyclic application",
		Bound: "144 rows equal", Measured: fmt.Sprintf("%d of %d differ", different, len(rows)), Holds: different == 0})
}

// Both presets find what OptiServe's program finds, in as many steps.
func TestGolden(t *testing.T) {
	golden := must.Get(ReadGolden(open(t, realdata.Dir(t), "optiserve", "golden_figures.json")))(t)
	for preset, o := range map[string]rules.Options{"published": rules.Published(), "corrected": rules.Corrected()} {
		n, different, err := golden.Compare(preset, o)
		must.Do(t, err)
		proof.Claim(t, proof.Row{Topic: "environments", Claim: "OptiServe's golden figures, preset " + preset,
			Bound: "12 searches equal", Measured: fmt.Sprintf("%d of %d differ", different, n), Holds: n == 12 && different == 0})
	}
}

// Of the golden figures, those in which the presets differ, for machines without the data.
func TestPresets(t *testing.T) {
	m := compile(t, Small(false))
	for preset, want := range map[string]Result{
		"published": {1716.8, 6.0125, 0.6667, []float64{128, 512}, []int{0, 2}, 3},
		"corrected": {1716.8, 6.7625, 0.6667, []float64{512, 128}, []int{2, 0}, 3},
	} {
		o := rules.Corrected()
		if preset == "published" {
			o = rules.Published()
		}
		o.Strategy = rules.Last
		a, err := rules.NewPlanner(m).Solve(SmallProblem(m, "BAPB"), o)
		if err != nil || !want.Equal(m, a) {
			t.Errorf("%s: %v in %d steps, %v, want %+v", preset, a.Plan, a.Steps, err, want)
		}
	}
}

// ReadTruth reads acyclic_ground_truth_144.csv.
func ReadTruth(r io.Reader) ([]Row, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []Row
	for i, row := range rows[min(1, len(rows)):] {
		if len(row) != 9 {
			return nil, fmt.Errorf("line %d: %d columns, want 9", i+2, len(row))
		}
		var x [9]float64
		for c := range x {
			if x[c], err = strconv.ParseFloat(row[c], 64); err != nil {
				return nil, fmt.Errorf("line %d, column %d: %q is not a number", i+2, c+1, row[c])
			}
		}
		out = append(out, Row{MB: [2]float64{x[1], x[2]}, Variants: [2]int{int(x[3]), int(x[4])},
			Accuracy: [2]float64{x[5], x[6]}, USD: x[7], Seconds: x[8] / 1000})
	}
	return out, nil
}
