package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

func power(t *testing.T, p Plan, trials int) float64 {
	t.Helper()
	x := must.Get(Power(p, trials, rng.New(1, "power test")))(t)
	return x
}

// With one baseline the decision is a paired t test, whose power follows from the noncentral t. By the tables of Cohen
// (1988, one-sample test, two-sided 0.05) the power is 0.80 for d = 0.5 with n = 34 differences, and for d = 0.8 with n
// = 15, within 0.01 or 0.02.
func TestPowerKnown(t *testing.T) {
	trials := size(2000, 20_000)
	worst := 0.0
	for _, c := range []struct {
		effect float64
		n      int
		want   float64
	}{{0.5, 34, 0.808}, {0.8, 15, 0.822}, {0, 20, 0.05}} {
		got := power(t, Plan{Effect: c.effect, Variation: Variation{Workloads: 1}, TrainingSeeds: 1, WorkloadSeeds: c.n, Baselines: 1}, trials)
		off := max(0, math.Abs(got-c.want)-3*math.Sqrt(c.want*(1-c.want)/float64(trials)))
		worst = max(worst, off)
		t.Logf("effect %g, n = %d: %.3f, t test %.3f", c.effect, c.n, got, c.want)
	}
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "power of the decision against one baseline is that of the paired t test (0.5 at n = 34, 0.8 at n = 15, 0 at n = 20)",
		Bound: "0.03 beyond three Monte Carlo errors", Measured: fmt.Sprintf("%.3f", worst), Holds: worst <= 0.03,
	})
}

// Power's Student intervals lead to the same verdicts as eval's bootstrap.
func TestPowerIsEvals(t *testing.T) {
	trials, apart := size(30, 200), 0
	plans := []Plan{
		{Effect: 0.8, Variation: Variation{Workloads: 1}, TrainingSeeds: 1, WorkloadSeeds: 20, Baselines: 4},
		{Effect: 1.2, Variation: Variation{Seeds: 0.7, Workloads: 1}, TrainingSeeds: 5, WorkloadSeeds: 20, Baselines: 4},
	}
	for _, p := range plans {
		for k := range trials {
			key := rng.New(2, "power is eval's").With(uint64(k))
			ours, full := p.trial(key, student), p.trial(key, func(a, b Scores, family int, key rng.Key) decision { return decide(a, b, family, 2000, key) })
			if ours.Decided() != full.Decided() {
				apart++
			}
		}
	}
	share := float64(apart) / float64(trials*len(plans))
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "the power simulation decides as eval does, on the same scores", Bound: "other verdicts in at most 5 % of trials",
		Measured: fmt.Sprintf("%.1f %%", 100*share), Holds: share <= 0.05,
	})
}

// The table of docs/statistics.md, four baselines.
func TestPowerTable(t *testing.T) {
	trials := size(200, 4000)
	workloads, seeds, effects := []int{5, 10, 20, 50, 100}, []int{2, 3, 5, 10, 20}, []float64{0.2, 0.5, 0.8, 1, 1.5, 2}
	if !*long {
		workloads, seeds, effects = []int{10, 20}, []int{3, 10}, []float64{0.5, 1.5}
	}
	head := func(what string) string {
		line := "| " + what + " |"
		for _, e := range effects {
			line += fmt.Sprintf(" %g |", e)
		}
		return line + "\n|" + strings.Repeat("---|", len(effects)+1) + "\n"
	}
	f := &chart.Figure{Title: "Probability of a verdict, four baselines (left: one training seed; right: 50 workload seeds)", Columns: 2, Width: 235, Height: 190}
	draw := func(name string, counts []int, of func(n int, e float64) Plan) (string, bool) {
		p := chart.NewPanel(name, "difference / deviation", "probability of better")
		p.RangeY(0, 1)
		text, rising := head(name), true
		for i, n := range counts {
			text += fmt.Sprintf("| %d |", n)
			y, last := make([]float64, len(effects)), 0.0
			for k, e := range effects {
				y[k] = power(t, of(n, e), trials)
				rising, last = rising && y[k] >= last-0.2, y[k]
				text += fmt.Sprintf(" %.2f |", y[k])
			}
			text += "\n"
			p.Line(chart.Styles(i), effects, y, false)
		}
		f.Panels = append(f.Panels, p)
		return text, rising
	}
	first, a := draw("workload seeds", workloads, func(n int, e float64) Plan {
		return Plan{Effect: e, Variation: Variation{Workloads: 1}, TrainingSeeds: 1, WorkloadSeeds: n, Baselines: 4}
	})
	second, b := draw("training seeds", seeds, func(m int, e float64) Plan {
		return Plan{Effect: e, Variation: Variation{Seeds: 1, Workloads: 1}, TrainingSeeds: m, WorkloadSeeds: 50, Baselines: 4}
	})
	for i := range workloads { // one colour for both panels' lines
		f.Key = append(f.Key, chart.Entry{Text: fmt.Sprintf("%d workload, %d training seeds", workloads[i], seeds[i]), Style: chart.Styles(i), Line: true})
	}
	t.Log("\n" + first + "\n" + second)
	keepFile(t, "power.md", first+"\n"+second)
	keepFigure(t, "power", f)
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "power table: probability of `better` by effect, workload seeds and training seeds, four baselines",
		Bound: "printed, rising with the effect", Measured: "docs/results/statistics/power.md", Holds: a && b,
	})
}

// Pilot estimates the variation with which the scores were drawn.
func TestPilot(t *testing.T) {
	s := rng.NewStream(1, "pilot")
	a, b := grid(40, 60), grid(1, 60)
	worlds := make([]float64, 60)
	for j := range worlds {
		worlds[j] = 9 * s.Norm()
		b[0][j] = worlds[j]
	}
	effects{"", 2, 9, 3}.fill(s, a, worlds, func(z float64) float64 { return z })
	v := Pilot(a, b)
	near(t, "deviation of training seeds", v.Seeds, 2, 0.5)
	near(t, "deviation under workloads", v.Workloads, 3, 0.2)
	if v := Pilot(b, b); !math.IsNaN(v.Seeds) || v.Workloads != 0 {
		t.Errorf("of two equal heuristics: %+v", v)
	}
	for _, p := range []Plan{{}, {TrainingSeeds: 1, WorkloadSeeds: 1, Baselines: 1, Effect: math.Inf(1)}, {TrainingSeeds: 1, WorkloadSeeds: 1, Baselines: 1, Variation: Variation{Seeds: math.NaN()}}} {
		if _, err := Power(p, 1, rng.New(1, "x")); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

func BenchmarkPower(b *testing.B) {
	p := Plan{Effect: 0.5, Variation: Variation{Seeds: 1, Workloads: 1}, TrainingSeeds: 5, WorkloadSeeds: 20, Baselines: 4}
	b.ReportAllocs()
	for b.Loop() {
		must.Get(Power(p, 1, rng.New(1, "bench")))(b)
	}
}
