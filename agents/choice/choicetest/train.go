package choicetest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// turn does what belongs to one step of a learner in a vector.
func turn(l agents.Learner, v *envs.Vector) error {
	if err := l.Act(v); err != nil {
		return err
	}
	if err := v.Step(); err != nil {
		return err
	}
	if err := l.Observe(v); err != nil {
		return err
	}
	return l.Update()
}

// Loop returns what does one step of a learner with seed 1 that plans 20,000, on copies of an environment, after the
// first ones: for measurements of time and of allocations.
func Loop(t testing.TB, copies, first int, env func() (envs.Env, error),
	build func(agents.Context) (agents.Learner, error)) func() {
	t.Helper()
	v, err := envs.NewVector(env, envs.VectorOptions{NumEnvs: copies, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := native.New(native.Options{Threads: 1})
	l, err := build(agents.Context{Spec: v.Spec(), NumEnvs: copies, Train: e, Act: e, Seed: 1, Steps: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Reset(); err != nil {
		t.Fatal(err)
	}
	step := func() {
		if err := turn(l, v); err != nil {
			t.Fatal(err)
		}
	}
	for range first {
		step()
	}
	return step
}

// Window is the number of last training episodes over which a point of a curve is a mean.
const Window = 100

// Curve is how one seed learned: after Steps[i] environment steps the last [Window] training episodes, exploration
// included, had Return[i] on average.
type Curve struct {
	Seed   uint64
	Steps  []int64
	Return []float64
}

// Last is the last point.
func (c Curve) Last() float64 { return c.Return[len(c.Return)-1] }

// Shipped reads a shipped configuration, a path from the tests' folder, into env and agent, which hold defaults, and
// returns its training; sets are changes such as "agent.rate=0.001".
func Shipped(t testing.TB, path string, env, agent any, sets ...string) configs.Train {
	t.Helper()
	x, err := configs.Load(path, sets, configs.Tables{
		Env: func(string) (any, error) { return env, nil }, Agent: func(string) (any, error) { return agent, nil },
		Baseline: func(string) (any, error) { return &struct{}{}, nil }, // those of its evaluation do not play here
	})
	if err != nil {
		t.Fatal(err)
	}
	return x.Train
}

// Train trains for steps environment steps on copies of an environment, with the seeds that a run of this seed has, and
// takes points many times. It returns the learner too, as it is at the end.
func Train(t testing.TB, seed uint64, copies int, steps int64, points int, build func() (envs.Env, error),
	make func(agents.Context) (agents.Learner, error)) (Curve, agents.Learner) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := envs.NewVector(build, envs.VectorOptions{NumEnvs: copies, Seed: rng.New(seed, "training episodes").Uint64()})
	must(err)
	e := native.New(native.Options{Threads: 1})
	l, err := make(agents.Context{Spec: v.Spec(), NumEnvs: copies, Train: e, Act: e, Seed: seed, Steps: steps})
	must(err)
	must(v.Reset())
	c := Curve{Seed: seed}
	var window []float64
	for done, point := int64(0), int64(1); done < steps; {
		must(turn(l, v))
		done += int64(copies)
		for _, e := range v.Finished {
			window = append(window, e.Return)
		}
		window = window[max(0, len(window)-Window):]
		if done*int64(points) >= point*steps {
			sum := 0.0
			for _, x := range window {
				sum += x
			}
			c.Steps, c.Return = append(c.Steps, done), append(c.Return, sum/float64(max(1, len(window))))
			point++
		}
	}
	return c, l
}

// Seeds trains once with each seed from first to last, as a shipped configuration plans, and returns the curves and
// their last points.
func Seeds(t testing.TB, first, last uint64, plan configs.Train, points int, env func() (envs.Env, error),
	build func(agents.Context) (agents.Learner, error)) (curves []Curve, ends []float64) {
	t.Helper()
	for seed := first; seed <= last; seed++ {
		c, _ := Train(t, seed, plan.Envs, plan.Steps, points, env, build)
		t.Logf("seed %d: %.1f", seed, c.Last())
		curves, ends = append(curves, c), append(ends, c.Last())
	}
	return curves, ends
}

// Interval returns the mean of one value per seed and half its 95 % interval (Student's).
func Interval(x []float64) (mean, half float64) {
	mean, sd := stat.MeanStdDev(x, nil)
	n := float64(len(x))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
}

// WriteCurves writes the curves as NAME.csv, a row for each seed and point, to the folder for proofs, if there is one.
func WriteCurves(t testing.TB, name string, curves []Curve) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	rows := [][]string{{"seed", "step", "return"}}
	for _, c := range curves {
		for i, n := range c.Steps {
			rows = append(rows, []string{strconv.FormatUint(c.Seed, 10), strconv.FormatInt(n, 10),
				strconv.FormatFloat(c.Return[i], 'f', 2, 64)})
		}
	}
	f, err := os.Create(filepath.Join(dir, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Mark is a horizontal line in a figure.
type Mark struct {
	Text string
	Y    float64
}

// Draw draws the mean over seeds with its interval, each seed as a thin line, and marks, to the folder for proofs, if
// there is one.
func Draw(t testing.TB, name, title string, curves []Curve, marks ...Mark) {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		return
	}
	panel := chart.NewPanel("", "environment steps", fmt.Sprintf("return, last %d training episodes", Window))
	f := &chart.Figure{Title: title, Panels: []*chart.Panel{panel}, Columns: 1, Width: 480, Height: 300}
	var x, mid, lo, hi []float64
	for i, n := range curves[0].Steps {
		var at []float64
		for _, c := range curves {
			at = append(at, c.Return[i])
		}
		mean, half := Interval(at)
		x, mid, lo, hi = append(x, float64(n)), append(mid, mean), append(lo, mean-half), append(hi, mean+half)
	}
	faint := chart.Styles(5)
	for _, c := range curves {
		panel.Line(faint, x, c.Return, false)
	}
	panel.Band(chart.Styles(0), x, lo, hi)
	panel.Line(chart.Styles(0), x, mid, false)
	f.Key = []chart.Entry{
		{Text: fmt.Sprintf("%d seeds' mean with its 95 %% interval", len(curves)), Style: chart.Styles(0), Line: true,
			Band: true},
		{Text: "each seed", Style: faint, Line: true},
	}
	for i, m := range marks {
		s := chart.Styles(2 + i)
		panel.Line(s, []float64{0, x[len(x)-1]}, []float64{m.Y, m.Y}, false)
		f.Key = append(f.Key, chart.Entry{Text: m.Text, Style: s, Line: true})
	}
	if _, err := f.Save(dir, name); err != nil {
		t.Fatal(err)
	}
}
