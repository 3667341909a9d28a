package train

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// underway is a run of a small experiment that has gone on for a while, with its updates under way.
func underway(t testing.TB, text string, sets ...string) *run {
	t.Helper()
	x := parse(t, text, sets...)
	w, err := build(x, 0, 0)
	must.Do(t, err)
	t.Cleanup(w.close)
	must.Do(t, w.vector.Reset())
	dir := t.TempDir()
	r := &run{opts: Options{}.filled(), fs: durable.OS{}, dir: dir, world: w, saved: -1,
		progress: newProgress(os.Stderr, false, 0, 1)}
	r.log, err = openLogger(durable.OS{}, dir, -1)
	must.Do(t, err)
	t.Cleanup(func() { r.log.close() })
	r.phases = newPhases(0)
	for range 200 {
		must.Do(t, r.step(t.Context()))
	}
	return r
}

const everyStep = "agent.update_every=1"

// A step of the loop (acting, stepping, remembering, learning, and asking what is due) allocates nothing.
func TestStepsDoNotAllocate(t *testing.T) {
	for name, text := range small {
		r := underway(t, text, everyStep, "train.steps=1000000", "train.log_every=1000000", "train.evaluate.every=0",
			"train.checkpoint.every=0")
		n := testing.AllocsPerRun(200, func() {
			must.Do(t, r.step(t.Context()))
			must.Do(t, r.scheduled(context.Background()))
			r.progress.update(r.state.Steps, &r.phases)
		})
		if n != 0 {
			t.Errorf("%s: a step allocates %g times", name, n)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for name, text := range small {
		b.Run(name, func(b *testing.B) {
			r := underway(b, text, "engine.workers=1")
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, r.step(b.Context()))
			}
			b.ReportMetric(float64(b.N*r.world.vector.NumEnvs())/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// Rollout metrics are means over the last hundred episodes.
func TestWindow(t *testing.T) {
	r := &run{}
	for i := range 250 {
		r.remember([]envs.Episode{{Return: float64(i), Length: int64(i), Info: []float64{float64(-i)}}})
	}
	if r.state.Episodes != 250 || len(r.state.Window) != windowLength {
		t.Fatalf("%d episodes, %d in the window", r.state.Episodes, len(r.state.Window))
	}
	for i, e := range r.state.Window {
		if want := 150 + i; float64(e.Return) != float64(want) || e.Length != int64(want) ||
			float64(e.Info[0]) != float64(-want) {
			t.Errorf("window[%d] is %+v, want episode %d", i, e, want)
		}
	}
}

// Whatever environments report can be saved: JSON has no word for numbers that are not finite.
func TestRealInJSON(t *testing.T) {
	was := []real{1.5, real(math.NaN()), real(math.Inf(1)), real(math.Inf(-1)), 0.1, real(math.Copysign(0, -1)),
		5e-324, math.MaxFloat64}
	text, err := json.Marshal(was)
	must.Do(t, err)
	var got []real
	must.Do(t, json.Unmarshal(text, &got))
	for i, x := range was {
		if a, b := float64(got[i]), float64(x); math.Float64bits(a) != math.Float64bits(b) &&
			!(math.IsNaN(a) && math.IsNaN(b)) {
			t.Errorf("%v came back as %v (%s)", b, a, text)
		}
	}
	var x real
	if json.Unmarshal([]byte(`"much"`), &x) == nil {
		t.Error(`"much" was read as a number`)
	}
}

// What is not finite is null in logs, and the line stays JSON.
func TestLogOfWhatIsNotFinite(t *testing.T) {
	dir := t.TempDir()
	l, err := openLogger(durable.OS{}, dir, -1)
	must.Do(t, err)
	must.Do(t, l.write(3, []value{{"a", math.NaN()}, {"b", math.Inf(1)}, {`c"d`, 0.1}}, nil))
	must.Do(t, l.close())
	b, err := os.ReadFile(filepath.Join(dir, checkpoints.MetricsFile))
	must.Do(t, err)
	if want := "{\"step\":3,\"a\":null,\"b\":null,\"c\\\"d\":0.1}\n"; string(b) != want {
		t.Errorf("logged %s, want %s", b, want)
	}
}

// Higher is better of a return, lower of a cost; what is not a number is never best.
func TestBetter(t *testing.T) {
	three := 3.0
	for _, c := range []struct {
		higher bool
		x      float64
		best   *float64
		want   bool
	}{
		{true, -7, nil, true}, {true, 4, &three, true}, {true, 3, &three, false}, {false, 2, &three, true}, {false, 4,
			&three, false},
		{true, math.NaN(), nil, false}, {true, math.Inf(1), &three, false}, {false, math.Inf(-1), nil, false},
	} {
		if got := (&checker{higher: c.higher}).better(c.x, c.best); got != c.want {
			t.Errorf("higher %v: %v better than %v: %v", c.higher, c.x, c.best, got)
		}
	}
}

// What train.evaluate.metric can name: the return, or a quantity with a better direction.
func TestEvaluationMetric(t *testing.T) {
	for metric, want := range map[string]string{
		"return": "", "distance": "", "occupied": "",
		"reward": `test.yaml: train.evaluate.metric: stoker/SimpleSpread-v1 reports no quantity "reward"; want return, distance, collisions, occupied`,
	} {
		w, err := build(parse(t, small["spread"], "train.evaluate.metric="+metric), 0, 0)
		switch {
		case err == nil && want == "":
			if w.checker.higher != (metric != "distance") {
				t.Errorf("%s: higher is better: %v", metric, w.checker.higher)
			}
			w.close()
		case err == nil || err.Error() != want:
			t.Errorf("%s: error %v, want %s", metric, err, want)
		}
	}
}

// A stop whose saving fails is a failure: it must not pass for one after saving.
func TestStopThatCannotSave(t *testing.T) {
	l := newLab(t)
	o := l.options()
	o.FS = durabletest.WithHooks(l.disk, durabletest.Hooks{Before: func(op durabletest.Op) error {
		if strings.Contains(op.Path, checkpoints.StepName(8)) {
			return os.ErrPermission
		}
		return nil
	}})
	res, err := Start(&countdown{context.Background(), 4}, parse(t, small["lqr"]), o)
	if err == nil || isStop(err) || !strings.Contains(err.Error(), "stopped (told to stop), and saving failed") {
		t.Errorf("error %v", err)
	}
	if filepath.Base(res.Checkpoint) != checkpoints.StepName(0) {
		t.Errorf("whole is said to be %s", res.Checkpoint)
	}
}

func isStop(err error) bool { return strings.HasPrefix(err.Error(), errStop.Error()) }
