package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// A group's curve is made of the stretch that all its runs have, linearly between their values; runs without one stay
// curves of their own.
func TestBands(t *testing.T) {
	nan := math.NaN()
	got := bands([]Curve{
		{Group: "a", Run: "a-s1", Steps: []int64{0, 10, 20, 30}, Values: []float64{1, 2, 3, 4}},
		{Group: "b", Run: "runs/b-s1", Steps: []int64{1}, Values: []float64{1}},
		{Group: "a", Run: "a-s2", Steps: []int64{20, 0, 30}, Values: []float64{9, 5, nan}},
		{Group: "b", Run: "runs/b-s2", Steps: []int64{2}, Values: []float64{2}},
	}, bandOptions{Band: BandRange})
	want := []band{
		{"a", 2, []float64{0, 10, 20}, []float64{3, 4.5, 6}, []float64{1, 2, 3}, []float64{5, 7, 9}},
		{"b-s1", 1, []float64{1}, []float64{1}, []float64{1}, []float64{1}},
		{"b-s2", 1, []float64{2}, []float64{2}, []float64{2}, []float64{2}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	long := Curve{Group: "l", Run: "l"}
	for k := range 10 * bandPoints {
		long.Steps, long.Values = append(long.Steps, int64(k)), append(long.Values, float64(k))
	}
	b := bands([]Curve{long}, bandOptions{})[0]
	if n := len(b.x); n > bandPoints+1 || b.x[0] != 0 || b.x[n-1] != float64(10*bandPoints-1) || b.mid[n-1] != b.x[n-1] {
		t.Errorf("a long curve becomes %d points from %g to %g", n, b.x[0], b.x[n-1])
	}
}

// Averages, bands and smoothing are what they say.
func TestAverage(t *testing.T) {
	five := []float64{1, 2, 3, 4, 100}
	for _, c := range []struct {
		o               bandOptions
		v               []float64
		point, low, top float64
	}{
		{bandOptions{Average: AverageMean, Band: BandRange}, five, 22, 1, 100},
		{bandOptions{Average: AverageIQM, Band: BandNone}, five, 3, 3, 3},
		// Student's interval of 1, 2, 3, 4: 2.5 ± 3.1824·√(5/3)/2; three runs have their range.
		{bandOptions{Average: AverageMean, Band: BandInterval}, five[:4], 2.5, 2.5 - 3.182446305284263*math.Sqrt(5.0/3)/2,
			2.5 + 3.182446305284263*math.Sqrt(5.0/3)/2},
		{bandOptions{Average: AverageMean, Band: BandInterval}, five[:3], 2, 1, 3},
	} {
		got := c.o.average(c.v)
		if math.Abs(got.Point-c.point) > 1e-12 || math.Abs(got.Low-c.low) > 1e-9 || math.Abs(got.High-c.top) > 1e-9 {
			t.Errorf("%+v: %+v, want %g [%g, %g]", c.o, got, c.point, c.low, c.top)
		}
	}
	// Weights ½, 1 over 1.5; ¼, ½, 1 over 1.75.
	if got, want := smoothed([]float64{1, 4, 0}, 0.5), []float64{1, 3, 2.25 / 1.75}; !slices.Equal(got, want) {
		t.Errorf("smoothed is %v, want %v", got, want)
	}
	if y := []float64{1, 2}; !slices.Equal(smoothed(y, 0), y) {
		t.Error("smoothing by 0 changes values")
	}
}

// runFolder makes a run folder under dir with a configuration and a log of x = 10·value, 11·value….
func runFolder(t *testing.T, dir, name, config string, value float64) string {
	t.Helper()
	path := filepath.Join(dir, name)
	put := func(file, text string) {
		t.Helper()
		must.Do(t, os.MkdirAll(path, 0o777))
		must.Do(t, os.WriteFile(filepath.Join(path, file), []byte(text), 0o666))
	}
	var log, times strings.Builder
	for k := range 3 {
		fmt.Fprintf(&log, "{\"step\":%d,\"rollout/cost\":%g}\n", 10*k, value*float64(10+k))
		fmt.Fprintf(&times, "{\"step\":%d,\"at\":\"2020-01-01T00:00:00Z\",\"time/elapsed_s\":%d,\"time/fps\":7}\n", 10*k,
			100*k)
	}
	put("metrics.jsonl", log.String())
	put("timing.jsonl", times.String())
	if config != "" {
		put("run.json", `{"env": "stoker/LQR-v1", "config": `+config+`}`)
	}
	return path
}

// Runs are one line where their configurations are equal but for the seed, whatever their folders are called, and
// lines are told apart by what differs.
func TestPlotRuns(t *testing.T) {
	dir := t.TempDir()
	made := func(seed int, rate string) string {
		return fmt.Sprintf(`{"name": "x", "seed": %d, "agent": {"rate": %s, "hidden": [4]}, "train": {"log_every": %d}, "eval": {"seeds": "%d"}}`, seed, rate, seed, seed)
	}
	runFolder(t, dir, "x-s1", made(1, "0.1"), 1)
	runFolder(t, dir, "x-s2", made(2, "0.1"), 3)
	runFolder(t, dir, "other-s10", made(10, "0.2"), 5)
	runFolder(t, dir, "other-s9", made(9, "0.2"), 5)
	runFolder(t, dir, "again/x-s1", made(1, "0.3"), 5)
	out := filepath.Join(dir, "curves")
	got := must.Get(PlotRuns(RunPlot{Runs: []string{filepath.Join(dir, "*"), filepath.Join(dir, "again/x-s1")},
		Metrics: []string{"rollout/cost", "time/fps"}, Out: out, Band: BandRange}))(t)
	want := []string{"learning_curve.png", "learning_curve.svg", "learning_curve.pdf", "learning_curve.csv",
		"learning_curve_bands.csv"}
	for i := range want {
		want[i] = filepath.Join(out, want[i])
	}
	if !slices.Equal(got.Files, want) {
		t.Errorf("files %v, want %v", got.Files, want)
	}
	if want := []string{
		"x rate=0.2: 2 runs", "x rate=0.1: 2 runs", "x rate=0.3: 1 run",
	}; !slices.Equal(got.Notes, want) {
		t.Errorf("notes %q, want %q", got.Notes, want)
	}
	text := func(i int) string {
		t.Helper()
		b := must.Get(os.ReadFile(want[i]))(t)
		return string(b)
	}
	for _, w := range []string{
		"x rate=0.1 (IQM and range of 2 runs)", "Learning curves in stoker/LQR-v1",
		"cost in training episodes", "training speed (environment steps/s)",
	} {
		if !strings.Contains(text(1), w) {
			t.Errorf("the figure does not say %q", w)
		}
	}
	if first := "x rate=0.2," + filepath.Join(dir, "other-s9") + ",rollout/cost,0,50\n"; !strings.Contains(text(3), "step,value\n"+first) {
		t.Errorf("values begin otherwise than with %s: %.200s", first, text(3))
	}
	if !strings.Contains(text(4), "x rate=0.1,rollout/cost,10,22,11,33,2\n") {
		t.Errorf("lines are %s", text(4))
	}
	// Over time, named, every run for itself.
	must.Get(PlotRuns(RunPlot{Runs: []string{filepath.Join(dir, "x-s1"), filepath.Join(dir, "x-s2")},
		Metrics: []string{"rollout/cost"}, Time: true, Separate: true,
		Labels: []string{"first", "second"}, Out: out, Name: "times", Smooth: 0.5, Log: true}))(t)
	b, err := os.ReadFile(filepath.Join(out, "times.csv"))
	if err != nil || !strings.Contains(string(b), "second,"+filepath.Join(dir, "x-s2")+",rollout/cost,20,36,200\n") {
		t.Errorf("over time: %s, %v", b, err)
	}
}

// Sessions' clocks add up; what was done again after a crash counts once, and its time is not given back.
func TestClocked(t *testing.T) {
	dir := logged(t, "a", "{\"step\":5,\"x\":1}\n{\"step\":15,\"x\":1}\n{\"step\":30,\"x\":1}\n")
	times := "{\"step\":0,\"time/elapsed_s\":0}\n{\"step\":10,\"time/elapsed_s\":10}\n{\"step\":20,\"time/elapsed_s\":20}\n{\"step\":20,\"time/elapsed_s\":5}\n{\"step\":30,\"time/elapsed_s\":8}\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "timing.jsonl"), []byte(times), 0o666))
	c, err := ReadCurve(dir, "a", "x")
	if err == nil {
		c, err = c.clocked()
	}
	if want := []float64{5, 17.5, 28}; err != nil || !slices.Equal(c.Seconds, want) {
		t.Errorf("seconds %v, %v, want %v", c.Seconds, err, want)
	}
	// With times of day: the second session's first line is later on its clock than the first session's last.
	times = ""
	for _, l := range []struct {
		step, at int
		elapsed  float64
	}{{0, 0, 0}, {10, 10, 10}, {20, 31, 11}, {30, 42, 22}} {
		times += fmt.Sprintf("{\"step\":%d,\"at\":%q,\"time/elapsed_s\":%g}\n", l.step,
			time.Unix(1e9+int64(l.at), 1).UTC().Format(time.RFC3339Nano), l.elapsed)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "timing.jsonl"), []byte(times), 0o666))
	c = must.Get(must.Get(ReadCurve(dir, "a", "x"))(t).clocked())(t)
	if want := []float64{5, 15.5, 32}; !slices.Equal(c.Seconds, want) {
		t.Errorf("seconds %v, want %v", c.Seconds, want)
	}
	if _, err := (Curve{Run: t.TempDir()}).clocked(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a log of times: %v", err)
	}
}

// What is wrong is said with what would be right, as a mistake of the caller's.
func TestPlotRunsErrors(t *testing.T) {
	dir := t.TempDir()
	a := runFolder(t, dir, "a-s1", "", 1)
	runFolder(t, dir, "b", `{"seed": 1`, 1)
	for _, c := range []struct {
		p    RunPlot
		want string
	}{
		{RunPlot{}, "no runs to draw"},
		{RunPlot{Runs: []string{dir}}, "holds 2 runs: name some, or all of them as " + filepath.Join(dir, "*")},
		{RunPlot{Runs: []string{filepath.Join(a, "metrics.jsonl")}}, "is a part of a run: give " + a},
		{RunPlot{Runs: []string{t.TempDir()}}, "is no run folder: it has no metrics.jsonl"},
		{RunPlot{Runs: []string{filepath.Join(dir, "c*")}}, "no run folder matches"},
		{RunPlot{Runs: []string{filepath.Join(dir, "nope")}}, "there is no " + filepath.Join(dir, "nope")},
		{RunPlot{Runs: []string{a}, Labels: []string{"x", "y"}}, "2 labels for 1 lines: a"},
		{RunPlot{Runs: []string{a}, Smooth: 1}, "smoothing is 1, want a factor from 0"},
		{RunPlot{Runs: []string{a}, Average: "median"}, `average is "median", want iqm or mean`},
		{RunPlot{Runs: []string{a}, Band: "wide"}, `band is "wide", want interval, range or none`},
		{RunPlot{Runs: []string{a}, Name: "x/y"}, "want a file's name without a folder"},
	} {
		if _, err := PlotRuns(c.p); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, train.ErrUsage) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
	if _, err := PlotRuns(RunPlot{Runs: []string{a}, Metrics: []string{"rollout/cst"}}); err == nil ||
		!strings.Contains(err.Error(), "did you mean rollout/cost?") {
		t.Errorf("a wrong metric: %v", err)
	}
	if _, err := PlotRuns(RunPlot{Runs: []string{filepath.Join(dir, "b")}}); err == nil ||
		!strings.Contains(err.Error(), "run.json: ") {
		t.Errorf("a damaged run.json: %v", err)
	}
	if _, err := PlotRuns(RunPlot{Runs: []string{
		a,
	}, Metrics: []string{"rollout/cost"}, Out: filepath.Join(a, "metrics.jsonl", "curves")}); err == nil {
		t.Error("a folder below a file was made")
	}
}

func TestNatural(t *testing.T) {
	got := []string{"s10", "s2", "a", "s2b", "s02", "s1-10", "s1-9"}
	slices.SortStableFunc(got, natural)
	if want := []string{"a", "s1-9", "s1-10", "s2", "s02", "s2b", "s10"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
