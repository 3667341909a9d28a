package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// study is a plan of four trials that are halved at steps 10 and 20 of 40.
func study(t *testing.T, change func(s *Study)) *Plan {
	t.Helper()
	p := plan(t, []uint64{1}, 4, "agent.actor_rate=log(1e-4,1e-1)")
	p.Study = &Study{ScoreSeeds: "4001-4003", Metrics: []string{"cost"}, Halving: "10", Factor: 2}
	if change != nil {
		change(p.Study)
	}
	return p
}

// reached counts the runs by the steps of their last score.
func reached(s *Sweep) map[int64]int {
	out := map[int64]int{}
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			n := int64(0)
			if k := len(r.Scores); k > 0 {
				n = r.Scores[k-1].Steps
			}
			out[n]++
		}
	}
	return out
}

// A study trains all trials to the first rung and the better half of each rung to the next. It leaves the same bytes for
// any number of jobs and wherever it was stopped, and a trial that came to its end is the one that was never stopped.
func TestHalving(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "a")
	s := prepare(t, alone, study(t, nil), false)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 1, Train: fast}))
	if got := fmt.Sprint(reached(s)); got != "map[10:2 20:1 40:1]" {
		t.Errorf("runs by steps: %s", got)
	}
	for _, steps := range []int64{10, 20} { // whoever went on was better than whoever did not
		worst, best := 0.0, 1e9
		for _, a := range s.Arms {
			i := slices.IndexFunc(a.Runs[0].Scores, func(x Score) bool { return x.Steps == steps })
			switch {
			case i < 0:
			case i < len(a.Runs[0].Scores)-1:
				worst = max(worst, *a.Runs[0].Scores[i].Values[0])
			default:
				best = min(best, *a.Runs[0].Scores[i].Values[0])
			}
		}
		if worst > best || worst == 0 {
			t.Errorf("after %d steps the worst that went on costs %g, the best that did not %g", steps, worst, best)
		}
	}
	want := left(t, alone)

	dir := filepath.Join(t.TempDir(), "b")
	must.Do(t, prepare(t, dir, study(t, nil), false).Run(t.Context(), Options{Jobs: 4, Train: fast}))
	same(t, "four at a time", left(t, dir), want)

	dir = filepath.Join(t.TempDir(), "c")
	stops := 0
	for after := 3; ; after += 2 {
		ctx, stop := context.WithCancelCause(context.Background())
		w := &stopper{after: after, stop: stop}
		s := prepare(t, dir, study(t, nil), false)
		err := s.Run(ctx, Options{Jobs: 2, Out: func(Run) io.Writer { return w }, Train: train.Options{FS: fast.FS, LineEvery: time.Nanosecond}})
		if err == nil {
			break
		}
		if stops++; !errors.Is(err, errEnough) || stops > 50 {
			t.Fatal(err)
		}
	}
	if stops < 3 {
		t.Fatalf("stopped %d times, want several", stops)
	}
	same(t, "stopped and gone on", left(t, dir), want)

	for _, f := range must.Get(FinishedRuns(alone, catalog.Default()))(t) {
		x := must.Get(train.ReadConfig(f, catalog.Default()))(t)
		one := must.Get(train.Start(t.Context(), x, train.Options{FS: fast.FS, RunsDir: t.TempDir()}))(t)
		for _, name := range []string{"metrics.jsonl", "checkpoints/best", "checkpoints/step-000000000040/MANIFEST.sha256"} {
			got, err := os.ReadFile(filepath.Join(f, name))
			if text := must.Get(os.ReadFile(filepath.Join(one.Dir, name)))(t); err != nil || string(got) != string(text) {
				t.Errorf("%s of %s differs from that of one go: %v", name, f, err)
			}
		}
	}
	must.Do(t, prepare(t, alone, study(t, nil), false).Run(t.Context(), Options{Jobs: 1, Train: fast}))
	same(t, "nothing left to do", left(t, alone), want)
}

// Hyperband's batches are the paper's: for 3 rungs with factor 2, 4 trials that begin at the first, 3, and 3.
func TestHyperband(t *testing.T) {
	p := study(t, func(s *Study) { s.Hyperband = true })
	p.Trials = 11
	s := prepare(t, filepath.Join(t.TempDir(), "a"), p, false)
	var sizes []int
	for _, b := range s.Batches {
		sizes = append(sizes, len(b))
	}
	if fmt.Sprint(sizes) != "[4 3 3 1]" {
		t.Errorf("batches of %v trials", sizes)
	}
	must.Do(t, s.Run(t.Context(), Options{Jobs: 2, Train: fast}))
	// 4 → 2 → 1; 3 → 1; 3; 1
	if got := fmt.Sprint(reached(s)); got != "map[10:2 20:3 40:6]" {
		t.Errorf("runs by steps: %s", got)
	}
}

// Rungs may be numbers of training seeds.
func TestHalvingSeeds(t *testing.T) {
	p := study(t, func(s *Study) { s.Halving = Seeds })
	p.Seeds, p.Trials = []uint64{1, 2, 3, 4}, 4
	s := prepare(t, filepath.Join(t.TempDir(), "a"), p, false)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 2, Train: fast}))
	scored := map[int]int{}
	for _, a := range s.Arms {
		n := 0
		for _, r := range a.Runs {
			n += len(r.Scores)
			if want := map[bool]Status{true: Finished, false: Pruned}[len(r.Scores) > 0]; r.Status != want {
				t.Errorf("%s is %s, want %s", r.Folder, r.Status, want)
			}
		}
		scored[n]++
	}
	if fmt.Sprint(scored) != "map[1:2 2:1 4:1]" {
		t.Errorf("trials by their number of seeds: %v", scored)
	}
}

// A trial whose training diverges comes last and does not go on; one that fails for another reason leaves its rung open.
func TestStudyFailures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	p := study(t, nil)
	p.Random, p.Trials, p.Seed = nil, 0, 0
	p.Grid = []Axis{{"agent.actor_rate", []string{"1e-3", "1", "2e-3"}}}
	s := prepare(t, dir, p, false)
	diverges := s.targets()[1]
	c := &carrier{sweep: s}
	must.Do(t, os.Mkdir(dir, 0o777))
	if err := c.end(t.Context(), diverges, train.Outcome{Err: fmt.Errorf("at step 2: %w", train.ErrStep)}, 2); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(dir, s.Arms[2].Runs[0].Folder)
	must.Do(t, os.MkdirAll(blocked, 0o777))
	err := s.Run(t.Context(), Options{Jobs: 1, Train: fast})
	if err == nil || !strings.Contains(err.Error(), "1 trials could not be trained or scored") || reached(s)[20] != 0 {
		t.Fatalf("%v, %v", err, reached(s))
	}
	must.Do(t, os.Remove(blocked))
	s = must.Get(Open(dir, catalog.Default()))(t)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 1, Train: fast}))
	if got := reached(s); got[40] != 1 || s.Arms[1].Runs[0].Status != Failed || s.Arms[1].Runs[0].Scores[0].Values[0] != nil {
		t.Errorf("runs by steps: %v, the trial that diverged: %+v", got, s.Arms[1].Runs)
	}
}

// What is wrong with a study is said before anything is trained.
func TestStudyRefuses(t *testing.T) {
	for want, change := range map[string]func(p *Plan){
		"4003, a seed of eval.seeds":              func(p *Plan) { p.Set = []string{"eval.seeds=4003-4010"} },
		"has 5000, want at most 4999":             func(p *Plan) { p.Study.ScoreSeeds = "5000" },
		"is not a list of seeds":                  func(p *Plan) { p.Study.ScoreSeeds = "x" },
		"--halving is 21, which leaves one rung":  func(p *Plan) { p.Study.Halving = "21" },
		`--halving is "0"`:                        func(p *Plan) { p.Study.Halving = "0" },
		"--factor is 1":                           func(p *Plan) { p.Study.Factor = 1 },
		"--hyperband needs --halving":             func(p *Plan) { p.Study.Halving, p.Study.Hyperband = "", true },
		"--halving seeds needs at least 2":        func(p *Plan) { p.Study.Halving = Seeds },
		`reports no quantity "cots"`:              func(p *Plan) { p.Study.Metrics = []string{"cots"} },
		"train.steps is varied, but the rungs of": func(p *Plan) { p.Grid = []Axis{{"train.steps", []string{"40", "50"}}} },
	} {
		p := study(t, nil)
		change(p)
		if _, err := p.Arms(catalog.Default()); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A study is not gone on with where its flags or its file have changed, or a run was trained outside of it.
func TestStudyEdited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	s := prepare(t, dir, study(t, nil), false)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 2, Train: fast}))
	p := study(t, func(s *Study) { s.Factor = 3 })
	for _, extend := range []bool{false, true} {
		want := map[bool]string{false: "--factor was 2, is 3", true: "--extend is for sweeps that train every arm"}[extend]
		if _, err := Prepare(dir, p, catalog.Default(), extend); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	file := filepath.Join(dir, File)
	text := string(must.Get(os.ReadFile(file))(t))
	must.Do(t, os.WriteFile(file, []byte(strings.Replace(text, `"steps": 20`, `"steps": 21`, 1)), 0o666))
	if _, err := Open(dir, catalog.Default()); err == nil || !strings.Contains(err.Error(), "damaged or edited") {
		t.Errorf("edited: %v", err)
	}
}
