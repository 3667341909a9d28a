package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

func lqr(t *testing.T, sets ...string) *configs.Experiment {
	t.Helper()
	sets = append([]string{"train.steps=4000", "train.evaluate.every=2000", "engine.threads=1"}, sets...)
	x := must.Get(configs.Load("classic/lqr.yaml", sets, catalog.Default()))(t)
	return x
}

// asked is a context that has ended once it was asked so often whether it has; runs ask before each step.
type asked struct {
	context.Context
	left int
}

var errEnough = errors.New("enough")

func (a *asked) Err() error {
	if a.left--; a.left < 0 {
		return errEnough
	}
	return nil
}

// A finished run is taken as it is, a stopped one goes on to the same bytes, and one trained otherwise is refused.
func TestTrain(t *testing.T) {
	o := Options{Runs: t.TempDir(), Workers: 2}
	_, err := train.Start(&asked{Context: context.Background(), left: 300}, lqr(t),
		train.Options{RunsDir: o.Runs, Name: "half", Threads: 1})
	if !errors.Is(err, errEnough) {
		t.Fatalf("the run to stop gave %v", err)
	}
	all := []Training{{"half", lqr(t)}, {"whole", lqr(t)}}
	dirs := must.Get(o.Train(t.Context(), "training", all))(t)
	var logs [2]string
	for i, dir := range dirs {
		b := must.Get(os.ReadFile(filepath.Join(dir, "metrics.jsonl")))(t)
		logs[i] = string(b)
	}
	if logs[0] == "" || logs[0] != logs[1] {
		t.Errorf("the stopped run's metrics:\n%s\nthe other's:\n%s", logs[0], logs[1])
	}
	info := func() os.FileInfo {
		i := must.Get(os.Stat(filepath.Join(dirs[1], "run.json")))(t)
		return i
	}
	old := time.Unix(1_000_000_000, 0) // any time of writing differs from it, however coarse the file system's clock
	must.Do(t, os.Chtimes(filepath.Join(dirs[1], "run.json"), old, old))
	must.Get(o.Train(t.Context(), "training", all))(t)
	if !info().ModTime().Equal(old) {
		t.Error("a finished run was written again")
	}
	if _, err := o.Train(t.Context(), "training", []Training{{"whole", lqr(t, "eval.seeds=1-3")}}); err != nil {
		t.Errorf("another evaluation: %v", err)
	}
	_, err = o.Train(t.Context(), "training", []Training{{"whole", lqr(t, "agent.gamma=0.5")}})
	if err == nil || !strings.Contains(err.Error(), "agent.gamma") || !strings.Contains(err.Error(), "--runs") {
		t.Errorf("another discount: %v, want an error that names agent.gamma and --runs", err)
	}
}

// Workers of a farm train what a suite trains, and play what they can make: both as at home.
func TestElsewhere(t *testing.T) {
	e := &train.Elsewhere{Farm: farm.NewLocal(), Revision: "test", Kernels: must.Get(train.Kernels())(t)}
	w := &train.Worker{Farm: e.Farm, Scratch: t.TempDir(), MaxSteps: 1e6, FetchLimit: 1 << 20, Revision: "test",
		Kernels: e.Kernels, Evaluate: eval.Evaluate}
	units := map[farm.Kind]int{}
	do := func(ctx context.Context, l *farm.Lease, steps *atomic.Int64) (farm.Result, []farm.File, error) {
		units[l.Unit.Kind]++
		return w.Do(ctx, l, steps)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = farm.Work(ctx, e.Farm, farm.Worker{Name: "w", Slots: 1, Do: do}) }) // its end is the test's
	var metrics, results [2]string
	for i, o := range []Options{{Runs: t.TempDir(), Workers: 1}, {Runs: t.TempDir(), Workers: 1, Elsewhere: e}} {
		x := lqr(t, "train.steps=400", "train.evaluate.every=200")
		dirs := must.Get(o.Train(t.Context(), "training", []Training{{"run", x}}))(t)
		metrics[i] = string(must.Get(os.ReadFile(filepath.Join(dirs[0], "metrics.jsonl")))(t))
		trained := must.Get(eval.OpenTrained(catalog.Default(), dirs[0], nil))(t)
		trained.Source = "run"
		newEnv := func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }
		c := trained.Contestant(newEnv)
		c.Versions[0] = c.Versions[0].In(x)
		p := must.Get(o.Play(t.Context(), "playing", eval.Request{Contestants: []eval.Contestant{c}, Seeds: []uint64{3, 4, 5}}))(t)
		results[i] = fmt.Sprint(p.Episodes)
	}
	stop()
	all.Wait()
	if units[farm.Train] != 1 || units[farm.Evaluate] == 0 {
		t.Errorf("workers had units %v, want one that trains, and some that evaluate", units)
	}
	if metrics[0] == "" || metrics[0] != metrics[1] || results[0] != results[1] {
		t.Errorf("at home %s and %s, by a worker %s and %s", metrics[0], results[0], metrics[1], results[1])
	}
}
