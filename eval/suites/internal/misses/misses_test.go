package misses

import (
	"context"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suite/suitetest"
	"github.com/stoker-rl/stoker/internal/must"
)

// small plays few requests of short workflows.
func small(ctx context.Context, o suite.Options, r *suite.Report) error {
	return play(ctx, &o, r, size{worlds: []world{generated("short chains", steps.ChainShape, 3, 4), preset("diamond")},
		factors: []float64{1.5}, each: 1, requests: 6})
}

// A result does not depend on the workers. Nobody is cheaper at equal misses than who knows the draws.
func TestSuite(t *testing.T) {
	s := Suite()
	s.Run = small
	res := suitetest.Same(t, s, 3, 1, 2)
	cost := map[string]float64{}
	for _, row := range res.Rows {
		if name, ok := strings.CutPrefix(row.Quantity, "cost of "); ok && row.Note == "" {
			cost[row.Figure+" "+name] = float64(row.Ours)
		}
	}
	if len(cost) < 20 {
		t.Fatalf("there are %d costs:\n%s", len(cost), suite.Text(res))
	}
	for at, c := range cost {
		method := strings.Fields(strings.TrimPrefix(at, at[:strings.Index(at, "fastest ")+8]))[0]
		bound := cost[strings.Replace(at, " "+method+" ", " hindsight ", 1)]
		if c < bound*0.995 {
			t.Errorf("%s costs %g, with the draws known %g", at, c, bound)
		}
	}
}

// The policies of the zoo that configure steps either play or say why not.
func TestLearned(t *testing.T) {
	c := preset("diamond").env
	all, why, err := learned(c)
	must.Do(t, err)
	for _, m := range all {
		if _, err := m.Make(1); err != nil {
			t.Error(err)
		}
	}
	for _, w := range why {
		if !strings.Contains(w, "does not play: ") {
			t.Errorf("%q says nothing", w)
		}
	}
}

// Every method is read, and the world has a figure; a result does not depend on the workers.
func TestContended(t *testing.T) {
	s := Contended()
	s.Run = func(ctx context.Context, o suite.Options, r *suite.Report) error {
		return playContended(ctx, &o, r, contendedSize{factors: []float64{1.2}, each: []int{1}, requests: 2})
	}
	res := suitetest.Same(t, s, 2, 1, 2)
	if len(res.Figures) != 1 {
		t.Fatalf("%d figures, want one", len(res.Figures))
	}
	read := map[string]bool{}
	for _, row := range res.Rows {
		name, _, _ := strings.Cut(strings.TrimPrefix(row.Quantity, "cost of "), " at ")
		read[name] = true
	}
	for _, m := range contendedPlanners() {
		if !read[m.Name] {
			t.Errorf("%s is not read: %v", m.Name, read)
		}
	}
}

// The figures' names are names of files: no other letters are.
func TestContendedFigures(t *testing.T) {
	for _, w := range contendedWorlds("") {
		if name := newFigure("contended-"+w.name, "", w.name, "base").Name; strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("the figure of %s is %q", w.name, name)
		}
	}
}
