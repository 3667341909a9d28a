package faasconf

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/eval/suite"
)

// The static searches leave the same rows with one worker as with several, and every figure has some.
func TestStatic(t *testing.T) {
	s := size{
		applications: []string{"sequential"}, users: []int{10, safeUsers}, rows: 120, repetitions: 2, trainings: 2, updates: 20,
	}
	play := func(workers int) (rows string, figures map[string]int) {
		dir := t.TempDir()
		toy := suite.Suite{
			Name: "faasconf-small", Doc: "a small one", Paper: paper, Seeds: 2, QuickSeeds: 2,
			Run: func(ctx context.Context, o suite.Options, r *suite.Report) error {
				f, err := static(ctx, &o, r, s)
				if err != nil {
					return err
				}
				suite.Judge(r, f, searchClaims)
				return nil
			},
		}
		res, err := suite.Run(t.Context(), toy, suite.Options{Workers: workers}, dir, suite.Made{})
		if err != nil {
			t.Fatal(err)
		}
		figures = map[string]int{}
		for _, r := range res.Rows {
			figures[r.Figure]++
		}
		text, err := os.ReadFile(filepath.Join(dir, "fig8-searches.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text), figures
	}
	one, figures := play(1)
	two, _ := play(2)
	if one != two {
		t.Errorf("one worker:\n%s\ntwo:\n%s", one, two)
	}
	for _, f := range []string{"8", "12", "13", "14"} {
		if figures[f] == 0 {
			t.Errorf("Fig. %s has no rows: %v", f, figures)
		}
	}
}
