package variants_test

import (
	"context"
	"errors"
	"testing"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/agents/baselines/variants/published"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
)

func compiled(t testing.TB, app variants.App) *variants.Model {
	t.Helper()
	m := must.Get(app.Compile())(t)
	return m
}

func preset(t testing.TB, name string) *variants.Model {
	t.Helper()
	app := must.Get(variants.Preset(name))(t)
	return compiled(t, app)
}

// problems returns problems with bounds at several places of an application's ranges.
func problems(m *variants.Model) []variants.Problem {
	ends := func(best bool) variants.Outcome {
		choice := make([]int, m.NumFunctions())
		for f := range choice {
			if best {
				choice[f] = len(m.Options[f]) - 1
			} else {
				_, to := m.VariantOptions(f, 0)
				choice[f] = to - 1
			}
		}
		return m.Evaluate(choice)
	}
	fast, best := ends(false), ends(true)
	var out []variants.Problem
	for _, at := range []float64{0.2, 0.5, 0.9} {
		usd := fast.USD + at*(best.USD-fast.USD)
		seconds := fast.Seconds + 0.01 + 2*at*best.Seconds
		accuracy := fast.Accuracy + at*(best.Accuracy-fast.Accuracy)
		out = append(out, variants.Problem{Objective: variants.Time, Budget: usd, Accuracy: accuracy},
			variants.Problem{Objective: variants.Cost, Latency: seconds, Accuracy: accuracy},
			variants.Problem{Objective: variants.Accuracy, Budget: usd, Latency: seconds})
	}
	return out
}

// An answer keeps the constraints or is refused, and none is better than the best of all configurations.
func TestAnswers(t *testing.T) {
	for _, name := range []string{"app1", "app2", "app3"} {
		m := preset(t, name)
		l := rules.NewPlanner(m)
		kept := 0
		for _, p := range problems(m) {
			exact, err := m.Solve(context.Background(), p)
			if err != nil {
				continue
			}
			for _, o := range []rules.Options{rules.Published(), rules.Corrected()} {
				for _, s := range rules.Strategies() {
					o.Strategy = s
					a, err := l.Solve(p, o)
					if errors.Is(err, rules.ErrMissed) {
						if p.Keeps(a.Outcome) {
							t.Errorf("%s, %s, %s: %v is refused and keeps the constraints", name, p, s, a)
						}
						continue
					}
					must.Do(t, err)
					kept++
					if got := m.Evaluate(a.Choice); got != a.Outcome || !p.Keeps(got) {
						t.Errorf("%s, %s, %s: %v, but the choice gives %v", name, p, s, a, got)
					}
					if share := p.OfIdeal(a.Outcome, exact.Outcome); share > 100+1e-9 ||
						p.Objective != variants.Accuracy && p.Value(a.Outcome) < p.Value(exact.Outcome)-1e-9 {
						t.Errorf("%s, %s, %s: %g %% of the ideal %v", name, p, s, share, exact)
					}
				}
			}
		}
		if kept < 40 {
			t.Errorf("%s: %d answers", name, kept)
		}
	}
}

// What a planner answers does not depend on what it answered before, and equals the functions that need no planner.
func TestAgain(t *testing.T) {
	m := preset(t, "app4")
	l := rules.NewPlanner(m)
	for range 2 {
		for _, p := range problems(m) {
			for s, solve := range map[rules.Strategy]func(*variants.Model, variants.Problem, rules.Options) (variants.Plan, error){
				rules.Max: rules.BCRMax, rules.Slope: rules.BCRSlope, rules.Best: rules.PRCP} {
				o := rules.Corrected()
				o.Strategy = s
				a, err := l.Solve(p, o)
				b, other := solve(m, p, rules.Corrected())
				if a.Outcome != b.Outcome || !errors.Is(err, other) {
					t.Errorf("%s, %s: %v (%v) and %v (%v)", p, s, a.Outcome, err, b.Outcome, other)
				}
			}
		}
	}
}

// Without the fallback a budget below the smallest sizes' cost is not kept, with it the cheapest sizes are the start.
func TestFallback(t *testing.T) {
	app := variants.App{Name: "u", Workflow: workflow.New("u", workflow.Chain("a", "b")), Tariff: variants.Lambda}
	for _, name := range []string{"a", "b"} {
		app.Functions = append(app.Functions, variants.Function{Name: name, Memory: variants.Sizes(128, 512, 2048),
			Variants: []variants.Variant{{Law: variants.Law{Form: memory.Table, MB: []float64{128, 512, 2048},
				Seconds: []float64{10, 1, 0.9}}}}})
	}
	m := compiled(t, app)
	small, cheap := m.Evaluate([]int{0, 0}), m.Evaluate([]int{1, 1})
	if small.USD <= cheap.USD {
		t.Fatalf("the smallest sizes cost %g, the middle ones %g", small.USD, cheap.USD)
	}
	p := variants.Problem{Objective: variants.Time, Budget: (small.USD + cheap.USD) / 2}
	o := rules.Corrected()
	if _, err := rules.BCRMax(m, p, o); !errors.Is(err, rules.ErrMissed) {
		t.Errorf("without the fallback: %v, want ErrMissed", err)
	}
	o.Fallback = true
	if a, err := rules.BCRMax(m, p, o); err != nil || a.Seconds > cheap.Seconds {
		t.Errorf("with the fallback: %v, %v", a, err)
	}
}

// The published defects change answers: one is worse, one is not found.
func TestDefects(t *testing.T) {
	m := compiled(t, published.Small(true))
	l := rules.NewPlanner(m)
	p := published.SmallProblem(m, "BAPB")
	with, without := rules.Published(), rules.Published()
	with.Strategy, without.Strategy, without.Bundle = rules.Last, rules.Last, false
	a, _ := l.Solve(p, with)
	b, _ := l.Solve(p, without)
	if a.Outcome == b.Outcome {
		t.Errorf("bundle changes nothing: %v", a)
	}

	best := make([]int, m.NumFunctions())
	for f := range best {
		best[f], _ = m.VariantOptions(f, m.NumVariants(f)-1)
	}
	p = variants.Problem{Objective: variants.Time, Budget: 1.01 * m.Evaluate(best).USD, Accuracy: 0.99}
	with, without = rules.Published(), rules.Published()
	without.ChargeTwice = false
	if _, err := l.Solve(p, with); !errors.Is(err, rules.ErrMissed) {
		t.Errorf("charged twice: %v, want ErrMissed", err)
	}
	if a, err := l.Solve(p, without); err != nil {
		t.Errorf("charged once: %v, %v", a, err)
	}
}

func TestWrongOptions(t *testing.T) {
	m := preset(t, "app1")
	o := rules.Corrected()
	o.Strategy = "fastest"
	if _, err := rules.PRCP(m, variants.Problem{Objective: variants.Time}, o); err == nil {
		t.Error("an unknown strategy is no error")
	}
	if _, err := rules.PRCP(m, variants.Problem{Objective: "luck"}, rules.Corrected()); err == nil {
		t.Error("an unknown objective is no error")
	}
}

// What a search allocates does not grow with its steps.
func TestAllocations(t *testing.T) {
	m := preset(t, "app4")
	l := rules.NewPlanner(m)
	for _, p := range problems(m)[:3] {
		var steps int
		if n := testing.AllocsPerRun(5, func() {
			a, _ := l.Solve(p, rules.Corrected())
			steps = a.Steps
		}); n > 4 {
			t.Errorf("%s: %v allocations in %d steps", p, n, steps)
		}
	}
}
