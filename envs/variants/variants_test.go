package variants_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func app(t testing.TB, name string) variants.App {
	t.Helper()
	a := must.Get(variants.Preset(name))(t)
	return a
}

func compile(t testing.TB, a variants.App) *variants.Model {
	t.Helper()
	m, err := a.Compile()
	if err != nil {
		t.Fatalf("%s: %v", a.Name, err)
	}
	return m
}

// OptiServe's App3 has 16·64·40 = 40,960 configurations, and loops of 0.3 and 0.2.
func TestApp3(t *testing.T) {
	m := compile(t, app(t, "app3"))
	total := 1
	for _, o := range m.Options {
		total *= len(o)
	}
	if total != 40960 {
		t.Errorf("app3 has %d configurations, want 40,960", total)
	}
	for f, want := range []float64{1 / 0.7, 1 / 0.7, 1 / 0.8} {
		if math.Abs(m.Runs[f]-want) > 1e-12 {
			t.Errorf("function %d runs %g times, want %g", f, m.Runs[f], want)
		}
	}
}

func TestPresets(t *testing.T) {
	for i, name := range variants.Presets() {
		m := compile(t, app(t, name))
		if m.NumFunctions() != i+1 {
			t.Errorf("%s has %d functions, want %d", name, m.NumFunctions(), i+1)
		}
		choice := make([]int, i+1)
		for f := range choice {
			choice[f] = len(m.Options[f]) - 1
		}
		if o := m.Evaluate(choice); math.Abs(o.Accuracy-1) > 1e-12 {
			t.Errorf("%s: the best models have an accuracy of %g, want 1", name, o.Accuracy)
		}
	}
	if _, err := variants.Preset("app7"); err == nil {
		t.Error("there is an app7")
	}
}

// OptiServe's eq. 3.2 with the factor of 0.1 s, by hand: f1 of app1 with 128 MB takes 0.72 + 7.3·exp(-128/310) s = 5.551 s,
// billed as 56 steps of 100 ms.
func TestPrice(t *testing.T) {
	m := compile(t, app(t, "app1"))
	if got, want := m.Options[0][0].USD, 56*0.1*0.125*1.66667e-5+2e-7; math.Abs(got-want) > 1e-15 {
		t.Errorf("a run costs %g USD, want %g", got, want)
	}
	if got, want := m.Evaluate([]int{0}).Seconds, 0.72+7.3*math.Exp(-128.0/310)+0.01881; math.Abs(got-want) > 2e-3 {
		t.Errorf("it takes %g s, want %g", got, want)
	}
}

// every returns the best of all configurations.
func every(m *variants.Model, p variants.Problem) (best variants.Plan) {
	s := m.NewScratch()
	choice := make([]int, m.NumFunctions())
	for {
		if o := m.EvaluateWith(s, choice); p.Keeps(o) && (best.Choice == nil || p.Better(o, best.Outcome)) {
			best = variants.Plan{Choice: slices.Clone(choice), Outcome: o}
		}
		f := len(choice) - 1
		for f >= 0 && choice[f] == len(m.Options[f])-1 {
			choice[f] = 0
			f--
		}
		if f < 0 {
			return best
		}
		choice[f]++
	}
}

// small is app6 with few sizes: 3·8·8·3·6·3 = 10,368 configurations.
func small(t testing.TB, name string) variants.App {
	a := app(t, name)
	for i := range a.Functions {
		f := &a.Functions[i]
		f.Memory = variants.Sizes(1024, 3072)
		if len(f.Variants) == 1 {
			f.Memory = variants.Sizes(128, 512, 2048)
		}
	}
	return a
}

// The exact solution is the best of all configurations, for every objective, formula and orchestration.
func TestSolveIsExact(t *testing.T) {
	ctx := context.Background()
	formulas := []string{"", variants.Weighted, variants.Min, variants.Geometric, "0.5*resnet + yolo*yolo", `A("resnet") * yolo`}
	draw := rng.NewStream(7, "test/problems")
	for _, orchestration := range bill.Orchestrations() {
		a := small(t, "app6")
		a.Orchestration = orchestration
		whole := compile(t, a)
		for _, formula := range formulas {
			m := must.Get(whole.WithAccuracy(formula, nil, false))(t)
			for _, objective := range variants.Objectives() {
				low, high := m.AccuracyRange()
				p := variants.Problem{Objective: objective, Accuracy: low + draw.Float64()*(high-low), Latency: 12 + 15*draw.Float64(),
					Budget: 400 + 1500*draw.Float64()}
				switch objective {
				case variants.Time:
					p.Latency = 0
				case variants.Cost:
					p.Budget = 0
				default:
					p.Accuracy = 0
				}
				want := every(m, p)
				got, err := m.Solve(ctx, p)
				var none *variants.Infeasible
				if errors.As(err, &none) && want.Choice == nil {
					continue
				}
				if err != nil || want.Choice == nil || math.Abs(p.Value(got.Outcome)-p.Value(want.Outcome)) > 1e-9*p.Value(want.Outcome) {
					t.Errorf("%s, %q, %v: %+v (%v), want %+v", orchestration, formula, p, got, err, want)
				}
				if got.Outcome != m.Evaluate(got.Choice) {
					t.Errorf("%v: the outcome is not that of the choice", p)
				}
			}
		}
	}
}

// No configuration dominates one of the front, and every other one is dominated.
func TestTradeoffs(t *testing.T) {
	m := compile(t, small(t, "app4"))
	front := must.Get(m.Tradeoffs(context.Background(), 0))(t)
	dominates := func(a, b variants.Outcome) bool {
		const e = 1e-9
		return a.Seconds <= b.Seconds*(1+e) && a.USD <= b.USD*(1+e) && a.Accuracy >= b.Accuracy*(1-e)
	}
	for i, a := range front {
		for j, b := range front {
			if i != j && dominates(a.Outcome, b.Outcome) {
				t.Errorf("point %d dominates point %d", i, j)
			}
		}
	}
	choice := make([]int, m.NumFunctions())
	s := rng.NewStream(3, "test/choices")
	for range 2000 {
		for f := range choice {
			choice[f] = s.IntN(len(m.Options[f]))
		}
		o := m.Evaluate(choice)
		if !slices.ContainsFunc(front, func(p variants.Plan) bool { return dominates(p.Outcome, o) }) {
			t.Fatalf("nothing on the front is as good as %+v", o)
		}
	}
}

func TestInfeasible(t *testing.T) {
	m := compile(t, app(t, "app4"))
	_, err := m.Solve(context.Background(), variants.Problem{Objective: variants.Cost, Latency: 3, Accuracy: 1, Budget: 100})
	var none *variants.Infeasible
	if !errors.As(err, &none) {
		t.Fatalf("error %v, want infeasible", err)
	}
	for _, want := range []string{"latency 3 s cannot be met, even alone", "budget 100 USD cannot be met, even alone"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want it to say %q", err, want)
		}
	}
	_, err = m.Solve(context.Background(), variants.Problem{Objective: variants.Cost, Latency: 9, Accuracy: 1})

	if !errors.As(err, &none) {
		t.Fatalf("error %v, want infeasible", err)
	}
	// What the message names can be asked for.
	for _, n := range none.Needs {
		p := variants.Problem{Objective: variants.Cost, Latency: 9, Accuracy: 1}
		var x float64
		said := regexp.MustCompile(n.Constraint + ` ([0-9.]+).* can be met`).FindStringSubmatch(err.Error())
		must.Get(fmt.Sscan(said[1], &x))(t)
		if n.Constraint == "latency" {
			p.Latency = x
		} else {
			p.Accuracy = x
		}
		if _, err := m.Solve(context.Background(), p); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	near, ok := none.Nearest()
	if !ok || !(near.Seconds <= 9) && !(near.Accuracy >= 1-1e-9) {
		t.Errorf("nearest is %+v", near)
	}
}

// Evaluating allocates nothing beyond what the workflow's analysis does.
func BenchmarkEvaluate(b *testing.B) {
	m := compile(b, app(b, "app6"))
	s, choice := m.NewScratch(), make([]int, m.NumFunctions())
	b.ReportAllocs()
	for b.Loop() {
		m.EvaluateWith(s, choice)
	}
}

func BenchmarkFronts(b *testing.B) {
	for _, name := range variants.Presets() {
		a := app(b, name)
		b.Run(name, func(b *testing.B) {
			points := 0
			for b.Loop() {
				front := must.Get(compile(b, a).Tradeoffs(context.Background(), 0))(b)
				points = len(front)
			}
			b.ReportMetric(float64(points), "points")
		})
	}
}
