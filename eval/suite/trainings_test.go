package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
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
