package leaderboard

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// The best trials are trained anew with seeds that chose nothing. Their scores on the search's workloads are those that
// their runs have, and the difference is to the score in the search.
func TestFinal(t *testing.T) {
	p := &sweep.Plan{Config: "tiny.yaml", Text: tiny, Folder: t.TempDir(),
		Seeds: []uint64{1}, Metric: "cost", Grid: []sweep.Axis{{Key: "agent.actor_rate", Values: []string{"1e-4", "1e-2", "3e-3"}}},
		Study: &sweep.Study{ScoreSeeds: "4001-4002", Metrics: []string{"cost"}, Halving: "20", Factor: 2, Final: "2x2"}}
	names := catalog.Default()
	s := must.Get(sweep.Prepare(filepath.Join(t.TempDir(), "a"), p, names, false))(t)
	must.Do(t, s.Run(t.Context(), sweep.Options{Jobs: 2}))
	f := must.Get(s.Final())(t)
	if _, err := ReadFinal(t.Context(), s, f, names, 1, nil); err == nil || !strings.Contains(err.Error(), "base-s2 is waiting") {
		t.Errorf("before it is trained: %v", err)
	}
	must.Do(t, f.Run(t.Context(), sweep.Options{Jobs: 2}))
	f = must.Get(s.Final())(t) // as a later process opens it
	final := must.Get(ReadFinal(t.Context(), s, f, names, 2, nil))(t)
	b := must.Get(Read(s, "", Best))(t)
	if len(final.Rows) != 3 || final.Rows[1].Name != b.Arms[0].Name || final.Rows[1].Search != b.Arms[0].Mean {
		t.Fatalf("%+v, want the trials of %+v", final.Rows, b.Arms)
	}
	for i, r := range final.Rows {
		mean := 0.0
		for _, run := range f.Arms[i].Runs {
			c := must.Get(train.OpenCheckpoint(f.Folder(run)))(t)
			x := must.Get(train.ReadConfig(f.Folder(run), names))(t)
			mean += must.Get(train.Score(c, x, []uint64{4001, 4002}, "cost"))(t)[0] / 2
		}
		if math.Abs(float64(r.After.Mean)-mean) > 1e-9 || !(r.Test.Low <= r.Test.Mean && r.Test.Mean <= r.Test.High) {
			t.Errorf("%+v, want a mean of %g", r, mean)
		}
	}
	base, best, second := final.Rows[0], final.Rows[1], final.Rows[2]
	if best.Difference != best.After.Mean-best.Search || !math.IsNaN(float64(second.Difference)) || second.Steps != 20 ||
		math.Abs(float64(best.OverBase.Mean-(best.Test.Mean-base.Test.Mean))) > 1e-9 {
		t.Errorf("differences of %+v and %+v from %+v", best, second, base)
	}
	dir := t.TempDir()
	must.Do(t, final.Write(dir))
	if rows := strings.Count(string(must.Get(os.ReadFile(filepath.Join(dir, "final.csv")))(t)), "\n"); rows != 4 {
		t.Errorf("%d rows", rows)
	}
	if text := final.Text(); !strings.Contains(text, "trained anew with seeds 2-3") || !strings.Contains(text, "over the base") {
		t.Errorf("%s", text)
	}
	s.Plan.Study.Final = "1x2"
	if _, err := s.Final(); err == nil || !strings.Contains(err.Error(), "remove that folder, or give the --final that made it") {
		t.Errorf("another final: %v", err)
	}
	for _, bad := range []string{"3", "3x1", "0x5", "x", "3x5x"} {
		if _, _, err := sweep.ParseFinal(bad); err == nil {
			t.Errorf("--final %s is taken", bad)
		}
	}
}
