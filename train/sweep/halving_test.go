package sweep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// asha is a plan of so many trials that are promoted as scores arrive.
func asha(t *testing.T, trials int) *Plan {
	t.Helper()
	p := study(t, func(s *Study) { s.Asynchronous = true })
	p.Trials = trials
	return p
}

// scoring gives the runs that are due scores by a function, and returns what was decided.
func scoring(t *testing.T, s *Sweep, jobs int, cost func(trial, rung int) float64) string {
	t.Helper()
	for range 100 {
		due := s.decide(jobs)
		if len(due) == 0 {
			break
		}
		x := cost(slices.IndexFunc(s.Arms, func(a Arm) bool { return a.Name == due[0].arm.Name }), due[0].rung)
		due[0].run.Scores = append(due[0].run.Scores, Score{due[0].rung, due[0].until, []*float64{finite(x)}})
	}
	var out []string
	for _, d := range s.Decisions {
		i := slices.IndexFunc(s.Arms, func(a Arm) bool { return a.Name == d.Trial })
		out = append(out, fmt.Sprintf("%d@%d", i, d.Rung))
	}
	return strings.Join(out, " ")
}

// Decisions are the paper's, by hand: with factor 2, a trial goes on as soon as it is among the better half of a rung.
func TestDecisions(t *testing.T) {
	for _, c := range []struct {
		what string
		jobs int
		cost func(trial, rung int) float64
		want string
	}{
		{"the first is best", 1, func(trial, _ int) float64 { return float64(trial) }, "0@1 1@1 0@2 2@1 3@1 1@2 0@3"},
		{"the last is best", 1, func(trial, _ int) float64 { return float64(-trial) }, "0@1 1@1 1@2 2@1 2@2 2@3 3@1 3@2 3@3"},
		{"two at a time", 2, func(trial, _ int) float64 { return float64(trial) }, "0@1 1@1 2@1 0@2 3@1 1@2 0@3"},
		{"all at a time", 9, func(trial, _ int) float64 { return float64(trial) }, "0@1 1@1 2@1 3@1 0@2 1@2 0@3"},
		{"all fail", 1, func(int, int) float64 { return 1 / zeroed }, "0@1 1@1 2@1 3@1"},
	} {
		s := prepare(t, filepath.Join(t.TempDir(), "a"), asha(t, 4), false)
		if got := scoring(t, s, c.jobs, c.cost); got != c.want || !s.Decided || !s.soundDecisions() {
			t.Errorf("%s: decided %s, want %s (sound: %v)", c.what, got, c.want, s.soundDecisions())
		}
	}
}

var zeroed float64

// A study of --asha that was stopped goes on, and its replay ends with the same bytes: by workers, in another
// order, and where it was stopped too.
func TestReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	stops := 0
	// The first run that is over stops the others: no more runs end than go on at the same time.
	stopped := func(s func() *Sweep, o Options) {
		t.Helper()
		for {
			ctx, stop := context.WithCancelCause(t.Context())
			o.Ended = func(Arm, Run) { stop(errEnough) }
			err := s().Run(ctx, o)
			if err == nil {
				break
			}
			if stops++; !errors.Is(err, errEnough) || stops > 50 {
				t.Fatal(err)
			}
		}
	}
	stopped(func() *Sweep { return prepare(t, dir, asha(t, 4), false) }, Options{Jobs: 1, Train: fast})
	want := left(t, dir)
	s := must.Get(Open(dir, catalog.Default()))(t)
	if n := len(s.Decisions); n < 7 || !s.Decided || reached(s)[40] == 0 || !strings.Contains(want[File], `"order_dependent": true`) {
		t.Fatalf("%d decisions, %v", n, reached(s))
	}
	to, before := filepath.Join(t.TempDir(), "b"), stops
	o := Options{Jobs: 2, Train: train.Options{FS: fast.FS, Elsewhere: away(t, 2, nil)}}
	must.Do(t, must.Get(Replay(to, s, catalog.Default()))(t).Run(t.Context(), o))
	same(t, "by workers", left(t, to), want)

	to = filepath.Join(t.TempDir(), "c")
	stopped(func() *Sweep { return must.Get(Replay(to, s, catalog.Default()))(t) }, Options{Jobs: 3, Train: fast})
	if same(t, "stopped", left(t, to), want); stops < before+2 {
		t.Errorf("the replay was stopped %d times, want several", stops-before)
	}
}

// What can't be replayed, or decided as scores arrive, is said.
func TestReplayRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	for want, s := range map[string]*Sweep{
		"it is no study of --asha":      prepare(t, dir, study(t, nil), false),
		"the study has not decided all": prepare(t, dir, asha(t, 4), false),
		"exists and is no sweep":        {Dir: dir, Plan: *asha(t, 4), Decided: true},
	} {
		if _, err := Replay(filepath.Dir(filepath.Dir(dir)), s, catalog.Default()); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, change := range map[string]func(s *Study){
		"--asha needs --halving":          func(s *Study) { s.Halving = "" },
		"--asha and --hyperband are both": func(s *Study) { s.Hyperband = true },
		"--asha can't wait for a batch":   func(s *Study) { s.Propose, s.Batch = "optuna:tpe", 4 },
	} {
		p := asha(t, 4)
		change(p.Study)
		if _, err := p.Arms(catalog.Default()); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := prepare(t, dir, asha(t, 4), false)
	for what, list := range map[string][]Decision{
		"nobody": {{"x", 1}}, "a rung left out": {{s.Arms[0].Name, 2}}, "a rung beyond": {{s.Arms[0].Name, 1}, {s.Arms[0].Name, 2},
			{s.Arms[0].Name, 3}, {s.Arms[0].Name, 4}}, "twice": {{s.Arms[0].Name, 1}, {s.Arms[0].Name, 1}},
	} {
		if s.Decisions = list; s.soundDecisions() {
			t.Errorf("decisions of %s are taken for sound", what)
		}
	}
}
