package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train"
)

func lqr(t *testing.T, sets ...string) *configs.Experiment {
	t.Helper()
	sets = append([]string{"train.steps=4000", "train.evaluate.every=2000", "engine.threads=1"}, sets...)
	x, err := configs.Load("classic/lqr.yaml", sets, catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A finished run is taken as it is, a stopped one goes on to the same bytes, and one trained otherwise is refused.
func TestTrain(t *testing.T) {
	o := Options{Runs: t.TempDir(), Workers: 2}
	stopped, stop := context.WithCancelCause(t.Context())
	var count atomic.Int64
	go func() {
		for count.Load() < 500 {
			time.Sleep(time.Millisecond)
		}
		stop(errors.New("enough"))
	}()
	_, err := train.Start(stopped, lqr(t), train.Options{RunsDir: o.Runs, Name: "half", Count: &count, Threads: 1})
	if err == nil {
		t.Log("the run ended before it was stopped")
	}
	all := []Training{{"half", lqr(t)}, {"whole", lqr(t)}}
	dirs, err := o.Train(t.Context(), "training", all)
	if err != nil {
		t.Fatal(err)
	}
	var logs [2]string
	for i, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		logs[i] = string(b)
	}
	if logs[0] == "" || logs[0] != logs[1] {
		t.Errorf("the stopped run's metrics:\n%s\nthe other's:\n%s", logs[0], logs[1])
	}
	info := func() os.FileInfo {
		i, err := os.Stat(filepath.Join(dirs[1], "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	before := info()
	if _, err := o.Train(t.Context(), "training", all); err != nil {
		t.Fatal(err)
	}
	if !info().ModTime().Equal(before.ModTime()) {
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
