package memory_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"

	"github.com/stoker-rl/stoker/internal/must"
)

// fitted sizes of StepConf's profiling.
var profiled = []float64{512, 1024, 2048, 4096, 10240}

// runsOf are the runs of a law at the profiled sizes.
func runsOf(seconds func(jobs, mb, q float64) float64, q float64) []memory.Job {
	var out []memory.Job
	for _, jobs := range []float64{4, 8, 16, 32} {
		for _, mb := range profiled {
			out = append(out, memory.Job{jobs, mb, q, seconds(jobs, mb, q)})
		}
	}
	return out
}

// Laws of eq. 1 itself come back, in both cases and at sizes that were not measured.
func TestFitPieces(t *testing.T) {
	for _, want := range []memory.Pieces{
		{M: 1769, Inverse: memory.Inversely{A: 0.7, B: 0.05, F: 0.3}},
		{M: 1769, Multicore: true, Inverse: memory.Inversely{A: 0.7, B: 0.01, F: 0.2},
			Exponential: memory.Exponentially{A: 0.9, B: 0.4, C: 0.6, F: 1.1}},
	} {
		for _, q := range []float64{3, 6} {
			got := must.Get(memory.FitPieces(runsOf(want.Seconds, q), want.Multicore, memory.Options{}))(t)
			for _, mb := range []float64{600, 1500, 1769, 3000, 8000} {
				for _, jobs := range []float64{2, 10, 64} {
					if a, b := got.Seconds(jobs, mb, q), want.Seconds(jobs, mb, q); math.Abs(a/b-1) > 1e-4 {
						t.Errorf("%v jobs, %v MB, q %v: %g s, want %g", jobs, mb, q, a, b)
					}
				}
			}
		}
	}
}

// Coefficients are never negative, whatever the runs are.
func TestFitPiecesNegative(t *testing.T) {
	p := must.Get(memory.FitPieces(runsOf(func(jobs, mb, q float64) float64 { return 1 + mb/10240 - 0.01*jobs }, 6), true, memory.Options{Plain: true}))(t)
	for _, v := range []float64{p.Inverse.A, p.Inverse.B, p.Inverse.F, p.Exponential.A, p.Exponential.B, p.Exponential.C, p.Exponential.F} {
		if !(v >= 0) {
			t.Errorf("%+v has a negative number", p)
		}
	}
}

// Runs that say nothing of a case are refused.
func TestFitPiecesErrors(t *testing.T) {
	for _, c := range []struct {
		runs []memory.Job
		want string
	}{
		{nil, "too few for the inverse"},
		{[]memory.Job{{1, 512, 1, 1}, {1, 1024, 1, 0.5}}, "too few for the exponential"},
		{[]memory.Job{{1, 512, 1, -1}}, "want positive"},
	} {
		if _, err := memory.FitPieces(c.runs, true, memory.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.runs, err, c.want)
		}
	}
}
