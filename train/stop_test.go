package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// inEvaluation is a context that ends when an evaluation begins, which is when its Done is asked for.
type inEvaluation struct {
	context.Context
	cancel context.CancelCauseFunc
	n      int // evaluations until the one in which it ends
}

func stopInEvaluation(n int) *inEvaluation {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &inEvaluation{ctx, cancel, n}
}

func (c *inEvaluation) Done() <-chan struct{} {
	if c.n--; c.n == 0 {
		c.cancel(errStop)
	}
	return c.Context.Done()
}

// duringEvaluation is a context that ends at any moment after an evaluation has begun.
type duringEvaluation struct {
	context.Context
	cancel context.CancelCauseFunc
}

func stopDuringEvaluation() duringEvaluation {
	ctx, cancel := context.WithCancelCause(context.Background())
	return duringEvaluation{ctx, cancel}
}

func (c duringEvaluation) Done() <-chan struct{} {
	go c.cancel(errStop)
	return c.Context.Done()
}

// A run that is stopped in an evaluation stops there, saves, and begins the evaluation again when it is resumed; it
// ends with the bytes of one that was not stopped. This is true of every evaluation, for the best and for others, with
// and without a checkpoint due behind it, and for the last.
func TestStoppedInEvaluation(t *testing.T) {
	stops, differ := 0, 0
	for name, text := range small {
		want := finished(t, parse(t, text))
		for n := 1; ; n++ {
			l := newLab(t)
			_, err := Start(stopInEvaluation(n), parse(t, text), l.options())
			if err == nil {
				if n < 4 {
					t.Errorf("%s: only %d evaluations", name, n-1)
				}
				break
			}
			if !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			stops++
			at, err := checkpoints.Find(l.disk, l.dir(), checkpoints.Latest)
			must.Do(t, err)
			if !strings.HasSuffix(at, "-stopped") {
				t.Errorf("%s: stopped in evaluation %d, saved %s", name, n, at)
			}
			l.sound(t)
			// Stopped once more in the same evaluation, then let go on.
			if _, err := Resume(stopInEvaluation(1), l.dir(), l.options()); !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			l.resume(t)
			if d := differs(l.outcome(t), want); d != "" {
				t.Errorf("%s: stopped in evaluation %d: %s", name, n, d)
				differ++
			}
			l.sound(t)
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "resume",
		Claim: "stopped in the middle of any evaluation during training, twice, and resumed: last checkpoint and " +
			"metrics.jsonl equal those of a run that was not",
		Bound: "0 differ", Measured: fmt.Sprintf("%d differ of %d stops", differ, stops), Holds: differ == 0,
	})
}

// A total that grows after a stop in what was the last evaluation: that evaluation is made, and the run continues.
func TestStoppedInTheLastEvaluationAndExtended(t *testing.T) {
	l := newLab(t)
	text := small["lqr"]
	if _, err := Start(stopInEvaluation(4), parse(t, text), l.options()); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	o := l.options()
	o.Steps = 60
	if res, err := Resume(context.Background(), l.dir(), o); err != nil || res.Steps != 60 {
		t.Fatalf("%+v, %v", res, err)
	}
	l.sound(t)
}

// Who stops a run in a long evaluation does not wait for its end.
func TestStopsPromptly(t *testing.T) {
	var out strings.Builder
	o := newLab(t).options()
	o.Out = &out
	_, err := Start(stopDuringEvaluation(), parse(t, small["lqr"], "train.evaluate.episodes=1000000"), o)
	if !errors.Is(err, errStop) || strings.Contains(out.String(), "evaluation at step") {
		t.Errorf("stopped with %v, having said %q", err, &out)
	}
}

// An application's file is found from any folder too, and where it lies shapes no result.
func TestApplicationFromAnotherFolder(t *testing.T) {
	home := t.TempDir()
	app, err := os.ReadFile(filepath.Join("..", "configs", "variants", "app4.yaml"))
	must.Do(t, err)
	text := "name: a\nseed: 1\nenv: {id: stoker/VariantsEach-v1, workflow: app.yaml}\n" +
		"agent: {name: reinforce, episodes: 4, graph: {hidden: 8, layers: 1}}\n" +
		"train: {steps: 160, envs: 2, log_every: 40, checkpoint: {every: 40, keep: 1}, evaluate: {every: 80, episodes: 2, metric: ideal}}\n"
	for _, dir := range []string{"a", "b", "elsewhere"} {
		must.Do(t, os.Mkdir(filepath.Join(home, dir), 0o777))
	}
	must.Do(t, os.WriteFile(filepath.Join(home, "a", "app.yaml"), app, 0o666))
	must.Do(t, os.WriteFile(filepath.Join(home, "b", "app.yaml"), app, 0o666))

	t.Chdir(filepath.Join(home, "a"))
	whole, stopped := t.TempDir(), t.TempDir()
	_, err = Start(context.Background(), parse(t, text), options(whole))
	must.Do(t, err)
	want := outcome(t, durable.OS{}, filepath.Join(whole, "a"))

	t.Chdir(filepath.Join(home, "b"))
	if _, err := Start(&countdown{context.Background(), 5}, parse(t, text), options(stopped)); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(home, "elsewhere"))
	dir := filepath.Join(stopped, "a")
	_, err = Resume(context.Background(), dir, options(""))
	must.Do(t, err)
	same(t, "resumed from another folder, its application in another", outcome(t, durable.OS{}, dir), want)
}

// Where the data lie is written down as an absolute path, so that a run is resumed and evaluated from any folder, and
// shapes no result: only the folder's own name does.
func TestDataFromAnotherFolder(t *testing.T) {
	home := t.TempDir()
	must.Do(t, os.CopyFS(filepath.Join(home, "a", "trace"), os.DirFS(filepath.Join("..", "envs", "workload", "data"))))
	must.Do(t, os.CopyFS(filepath.Join(home, "b", "c", "trace"),
		os.DirFS(filepath.Join("..", "envs", "workload", "data"))))
	must.Do(t, os.Mkdir(filepath.Join(home, "elsewhere"), 0o777))
	text := small["sizing"]

	t.Chdir(filepath.Join(home, "a"))
	whole, stopped := t.TempDir(), t.TempDir()
	_, err := Start(context.Background(), parse(t, text, "workload.path=trace"), options(whole))
	must.Do(t, err)
	want := outcome(t, durable.OS{}, filepath.Join(whole, "a"))

	t.Chdir(filepath.Join(home, "b"))
	if _, err := Start(&countdown{context.Background(), 5}, parse(t, text, "workload.path=./c/trace/"),
		options(stopped)); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(home, "elsewhere"))
	dir := filepath.Join(stopped, "a")
	_, err = Resume(context.Background(), dir, options(""))
	must.Do(t, err)
	same(t, "resumed from another folder, its data in another", outcome(t, durable.OS{}, dir), want)

	c, err := OpenCheckpoint(dir)
	must.Do(t, err)
	x, err := ReadExperiment(c, nil, catalog.Default())
	must.Do(t, err)
	if at := filepath.Join(home, "b", "c", "trace"); x.Workload.Path != at {
		t.Errorf("evaluation would look for data at %s, want %s", x.Workload.Path, at)
	}
	if _, err := NewEnv(x, ""); err != nil {
		t.Error(err)
	}
	if x, err = ReadExperiment(c, []string{"workload.path=other"}, catalog.Default()); err != nil ||
		x.Workload.Path != "other" {
		t.Errorf("set to another path, evaluation would look at %v, %v", x.Workload.Path, err)
	}

	// Data of another name may be other data.
	y, err := ReadConfig(dir, catalog.Default())
	must.Do(t, err)
	y.Workload.Path = filepath.Join(home, "b", "d")
	b, err := y.YAML()
	must.Do(t, err)
	must.Do(t, os.WriteFile(filepath.Join(dir, configFile), b, 0o666))
	if _, err := Resume(context.Background(), dir, options("")); !errors.Is(err, ErrUsage) ||
		!strings.Contains(err.Error(), "workload.path: trace") {
		t.Errorf("another data set gave %v", err)
	}
}

// A run that is stopped twice in one evaluation, the second time with a larger total by another version, is saved still.
func TestStoppedTwiceInAnEvaluation(t *testing.T) {
	l := newLab(t)
	if _, err := Start(stopInEvaluation(2), parse(t, small["lqr"]), l.options()); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	o := l.options()
	o.Steps, o.Version = 60, "newer"
	if _, err := Resume(stopInEvaluation(1), l.dir(), o); !errors.Is(err, errStop) {
		t.Errorf("stopped again: %v", err)
	}
	if res, err := Resume(context.Background(), l.dir(), l.options()); err != nil || res.Planned != 60 || res.Steps != 60 {
		t.Errorf("then: %+v, %v", res, err)
	}
}
