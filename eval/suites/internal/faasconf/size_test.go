package faasconf

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var long = flag.Bool("long", false, "the size of the short run that tells whether the kept result is fresh")

// small is a size that tests can play.
func small() size {
	s := size{
		applications: []string{"sequential"}, users: []int{10, safeUsers}, rows: 120, repetitions: 2, trainings: 2, updates: 20,
		traceSteps: 600, windows: 4,
	}
	if !*long {
		s.rows, s.repetitions, s.trainings, s.updates, s.traceSteps, s.windows = 30, 1, 1, 3, 60, 2
		s.settings = []string{"env.windows=4", "train.evaluate.episodes=1"}
	}
	return s
}

// play plays a part of the suite at the small size, and returns a file of the result and the number of rows of each
// figure.
func playSmall(t *testing.T, workers int, file string, part func(context.Context, *suite.Options, *suite.Report) error) (
	text string, figures map[string]int) {
	t.Helper()
	dir := t.TempDir()
	toy := suite.Suite{
		Name: "faasconf-small", Doc: "a small one", Paper: paper, Seeds: 2, QuickSeeds: 2,
		Run: func(ctx context.Context, o suite.Options, r *suite.Report) error { return part(ctx, &o, r) },
	}
	res := must.Get(suite.Run(t.Context(), toy, suite.Options{Workers: workers, Quick: true}, dir, suite.Made{}))(t)
	figures = map[string]int{}
	for _, r := range res.Rows {
		figures[r.Figure]++
	}
	b := must.Get(os.ReadFile(filepath.Join(dir, file)))(t)
	return string(b), figures
}

// same plays a part with one worker and with two, wants the same bytes, and rows for some figures.
func same(t *testing.T, file string, want []string, part func(context.Context, *suite.Options, *suite.Report) error) {
	t.Helper()
	one, figures := playSmall(t, 1, file, part)
	if two, _ := playSmall(t, 2, file, part); one != two {
		t.Errorf("one worker:\n%s\ntwo:\n%s", one, two)
	}
	for _, f := range want {
		if figures[f] == 0 {
			t.Errorf("Fig. %s has no rows: %v", f, figures)
		}
	}
	proof.Log(t, "%s\n%s", file, one)
}

// The static searches leave the same rows with one worker as with several, and every figure has some.
func TestStatic(t *testing.T) {
	same(t, "fig8-searches.csv", []string{"8", "12", "13", "14"},
		func(ctx context.Context, o *suite.Options, r *suite.Report) error {
			f, err := static(ctx, o, r, small())
			if err == nil {
				suite.Judge(r, f, searchClaims)
			}
			return err
		})
}

// So does the trace, whose policies are trained.
func TestTrace(t *testing.T) {
	same(t, "fig9-equal.csv", []string{"9"}, func(ctx context.Context, o *suite.Options, r *suite.Report) error {
		tr, err := dynamic(ctx, o, r, small())
		if err == nil {
			tr.report()
			suite.Judge(r, tr, traceClaims)
		}
		return err
	})
}
