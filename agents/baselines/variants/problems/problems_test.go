package problems

import (
	"context"
	"reflect"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
)

func preset(t testing.TB, name string) *variants.Model {
	t.Helper()
	app := must.Get(variants.Preset(name))(t)
	m := must.Get(app.Compile())(t)
	return m
}

func draw(t testing.TB, m *variants.Model, s Spread, n int, seed uint64) []Case {
	t.Helper()
	cases := must.Get(Draw(context.Background(), m, s, n, seed))(t)
	return cases
}

// Every drawn problem has an answer, which is the best of all configurations, and a seed draws the same problems again.
func TestDraw(t *testing.T) {
	m := preset(t, "app3")
	for _, s := range Spreads() {
		cases := draw(t, m, s, 6, 1)
		for i, c := range cases {
			if c.Problem.Objective != variants.Objectives()[i%3] {
				t.Errorf("%s, problem %d: objective %s", s, i, c.Problem.Objective)
			}
			if got := best(c); c.Problem.Value(got) != c.Problem.Value(c.Ideal.Outcome) {
				t.Errorf("%s, %s: the ideal is %v, the best of all configurations %v", s, c.Problem, c.Ideal, got)
			}
		}
		for i, c := range draw(t, m, s, 6, 1) {
			if c.Problem != cases[i].Problem || !reflect.DeepEqual(c.Ideal, cases[i].Ideal) {
				t.Errorf("%s, problem %d: %v, then %v", s, i, cases[i].Problem, c.Problem)
			}
		}
		if other := draw(t, m, s, 6, 2); other[0].Problem == cases[0].Problem {
			t.Errorf("%s: seeds 1 and 2 draw the same problem", s)
		}
	}
}

// best goes through all configurations.
func best(c Case) variants.Outcome {
	choice, scratch := make([]int, c.Model.NumFunctions()), c.Model.NewScratch()
	var out variants.Outcome
	found := false
	for {
		if o := c.Model.EvaluateWith(scratch, choice); c.Problem.Keeps(o) && (!found || c.Problem.Better(o, out)) {
			out, found = o, true
		}
		f := len(choice) - 1
		for ; f >= 0; f-- {
			if choice[f]++; choice[f] < len(c.Model.Options[f]) {
				break
			}
			choice[f] = 0
		}
		if f < 0 {
			return out
		}
	}
}

// No heuristic beats the ideal, and the counts of a score are those of its cases.
func TestJudge(t *testing.T) {
	for _, name := range variants.Presets() {
		cases := draw(t, preset(t, name), Tight, 12, 3)
		for _, h := range Heuristics() {
			s := must.Get(Judge(cases, h))(t)
			if s.Cases != 12 || len(s.Of) != 12 || s.Near+s.Missed > 12 {
				t.Errorf("%s, %s: %+v", name, h.Name, s)
			}
			scored, choices, err := Answers(cases, h)
			if err != nil || scored.Near != s.Near {
				t.Errorf("%s, %s: %+v, then %+v (%v)", name, h.Name, s, scored, err)
			}
			sized := must.Get(Resized(t.Context(), cases, choices))(t)
			for i, of := range sized.Of {
				if of < s.Of[i]-1e-6 || of > 100+1e-6 {
					t.Errorf("%s, %s, %s: %g %% with the best sizes, %g %% with its own", name, h.Name, cases[i].Problem, of, s.Of[i])
				}
			}
			var sum Score
			for _, o := range variants.Objectives() {
				sum.Add(s.Only(cases, o))
			}
			if sum.Cases != s.Cases || sum.Near != s.Near || sum.Missed != s.Missed {
				t.Errorf("%s, %s: by objective %+v, in all %+v", name, h.Name, sum, s)
			}
			if name == "app1" && s.Near != 12 {
				t.Errorf("%s, %s: %d of 12 near on a single function", name, h.Name, s.Near)
			}
		}
	}
}

// An outcome that keeps the constraints is at most as good as the ideal: the share is at most 100 for each objective.
func TestOfIdeal(t *testing.T) {
	best := variants.Outcome{Seconds: 2, USD: 10, Accuracy: 0.8}
	for objective, o := range map[variants.Objective]variants.Outcome{
		variants.Time: {Seconds: 2.5}, variants.Cost: {USD: 12.5}, variants.Accuracy: {Accuracy: 0.64},
	} {
		p := variants.Problem{Objective: objective}
		if got := OfIdeal(p, o, best); got < 79.999 || got > 80.001 {
			t.Errorf("%s: %g %%, want 80", objective, got)
		}
		if got := OfIdeal(p, best, best); got != 100 {
			t.Errorf("%s: %g %% of itself", objective, got)
		}
	}
}

// The 1,500 problems of a seed by BCR_max, drawn beforehand.
func BenchmarkProblems(b *testing.B) {
	var all [][]Case
	for _, name := range variants.Presets() {
		all = append(all, draw(b, preset(b, name), Tight, 250, 1))
	}
	for _, h := range Heuristics()[3:6] {
		b.Run(h.Name, func(b *testing.B) {
			for b.Loop() {
				for _, cases := range all {
					must.Get(Judge(cases, h))(b)
				}
			}
		})
	}
}
