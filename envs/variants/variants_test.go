package variants

import (
	"context"
	"math"
	"testing"
)

func preset(t testing.TB, name string) *Model {
	t.Helper()
	a, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := a.Compile()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// OptiServe's App3 has 16·64·40 = 40,960 configurations.
func TestApp3(t *testing.T) {
	m := preset(t, "app3")
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
	best := make([]int, 3)
	for f := range best {
		best[f] = len(m.Options[f]) - 1
	}
	if o := m.Evaluate(best); math.Abs(o.Accuracy-1) > 1e-12 {
		t.Errorf("the best models have an accuracy of %g, want 1", o.Accuracy)
	}
}

func TestPresets(t *testing.T) {
	for i, name := range Presets() {
		m := preset(t, name)
		if m.NumFunctions() != i+1 {
			t.Errorf("%s has %d functions, want %d", name, m.NumFunctions(), i+1)
		}
		low, high := make([]int, i+1), make([]int, i+1)
		for f := range high {
			high[f] = len(m.Options[f]) - 1
		}
		t.Logf("%s: smallest %+v, largest %+v", name, m.Evaluate(low), m.Evaluate(high))
	}
}

func TestSolve(t *testing.T) {
	m := preset(t, "app3")
	p, err := m.Solve(context.Background(), Problem{Objective: Cost, Latency: 40, Accuracy: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", p)
}
