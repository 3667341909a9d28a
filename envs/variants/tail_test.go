package variants_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
)

// varied is an application whose runs vary, with few sizes.
func varied(t testing.TB, name string) *variants.Model {
	a := small(t, name)
	for i := range a.Functions {
		for j := range a.Functions[i].Variants {
			a.Functions[i].Variants[j].CV = 0.1 + 0.1*float64(i)
		}
	}
	return compile(t, a)
}

// The search's answer is the best of all configurations by the percentile of their distributions.
func TestTailIsExact(t *testing.T) {
	m := varied(t, "app3")
	choice := make([]int, m.NumFunctions())
	type point struct {
		o   variants.Outcome
		p90 float64
	}
	var all []point
	for i := range len(m.Options[0]) * len(m.Options[1]) * len(m.Options[2]) {
		choice[0] = i % len(m.Options[0])
		choice[1] = i / len(m.Options[0]) % len(m.Options[1])
		choice[2] = i / len(m.Options[0]) / len(m.Options[1])
		d := must.Get(m.Distribution(choice, workflow.Grid{Points: 1024}))(t)
		all = append(all, point{m.Evaluate(choice), d.Quantile(0.9)})
	}
	best := func(keeps func(p point) bool, value func(p point) float64) float64 {
		out := math.Inf(1)
		for _, p := range all {
			if keeps(p) {
				out = min(out, value(p))
			}
		}
		return out
	}
	usd := func(p point) float64 { return p.o.USD }
	for _, latency := range []float64{25, 40, 60} {
		for _, accuracy := range []float64{0, 0.9, 1} {
			want := best(func(p point) bool { return p.p90 <= latency && p.o.Accuracy >= accuracy-1e-9 }, usd)
			got, err := m.SolveTail(context.Background(), variants.Problem{Objective: variants.Cost, Latency: latency, Percentile: 90,
				Accuracy: accuracy}, nil)
			var none *variants.Infeasible
			if math.IsInf(want, 1) && errors.As(err, &none) {
				continue
			}
			if err != nil || math.Abs(got.USD-want) > 1e-9*want || math.Abs(got.Proved-want) > 1e-6*want {
				t.Errorf("p90 of %g s, accuracy %g: %+v (%v), want %g USD", latency, accuracy, got, err, want)
			}
		}
	}
	for _, budget := range []float64{400, 700, 1500} {
		want := best(func(p point) bool { return p.o.USD <= budget }, func(p point) float64 { return p.p90 })
		got, err := m.SolveTail(context.Background(), variants.Problem{Objective: variants.Time, Budget: budget, Percentile: 90}, nil)
		if err != nil || math.Abs(got.Quantile-want) > 2e-3*want || got.Low > want || got.High < want {
			t.Errorf("budget %g: %+v (%v), want %g s", budget, got, err, want)
		}
		accuracy := -best(func(p point) bool { return p.o.USD <= budget && p.p90 <= 40 },
			func(p point) float64 { return -p.o.Accuracy })
		got, err = m.SolveTail(context.Background(), variants.Problem{Objective: variants.Accuracy, Budget: budget, Latency: 40,
			Percentile: 90}, nil)
		if err != nil || math.Abs(got.Accuracy-accuracy) > 1e-9 || got.USD > budget {
			t.Errorf("budget %g, p90 of 40 s: %+v (%v), want accuracy %g", budget, got, err, accuracy)
		}
	}
}

// A percentile that nothing has is refused with the least one.
func TestTailInfeasible(t *testing.T) {
	m := varied(t, "app4")
	_, err := m.Solve(context.Background(), variants.Problem{Objective: variants.Cost, Latency: 3, Percentile: 95, Accuracy: 1})
	if err == nil || !strings.Contains(err.Error(), "nearest: p95") {
		t.Errorf("error %v, want the nearest p95", err)
	}
}

func BenchmarkTail(b *testing.B) {
	for _, name := range variants.Presets()[2:] {
		b.Run(name, func(b *testing.B) {
			a := app(b, name)
			for i := range a.Functions {
				for j := range a.Functions[i].Variants {
					a.Functions[i].Variants[j].CV = 0.15
				}
			}
			m := compile(b, a)
			for b.Loop() {
				got := must.Get(m.SolveTail(context.Background(), variants.Problem{Objective: variants.Cost, Latency: 30, Percentile: 95, Accuracy: 0.95}, nil))(b)
				b.ReportMetric(float64(got.Evaluated), "distributions")
				b.ReportMetric(100*(got.USD/got.Proved-1), "%gap")
			}
		})
	}
}
