package leaderboard

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

const tiny = `
name: tiny
env: {id: stoker/LQR-v1, steps: 5}
agent: {name: maddpg, mix: single, hidden: [4], batch: 4, random_steps: 4, learning_starts: 4}
train: {steps: 40, envs: 2, log_every: 10, evaluate: {every: 20, episodes: 1, metric: cost},
	checkpoint: {every: 20}}
`

// swept is a finished sweep of tiny in a folder, over a grid and, with trials, over the discount.
func swept(t *testing.T, dir string, jobs, trials int, set ...string) *sweep.Sweep {
	t.Helper()
	p := &sweep.Plan{Config: "tiny.yaml", Text: tiny, Folder: t.TempDir(), Set: set, Seeds: []uint64{1, 2},
		Trials: trials,
		Metric: "cost"}
	for _, text := range []string{"agent.actor_rate=1e-4,3e-3", "agent.hidden=[4],[6]"} {
		a := must.Get(sweep.ParseAxis(text))(t)
		p.Grid = append(p.Grid, a)
	}
	if trials > 0 {
		r := must.Get(sweep.ParseRange("agent.gamma=log(0.5,0.9)"))(t)
		p.Random, p.Seed = append(p.Random, r), 1
	}
	s := must.Get(sweep.Prepare(dir, p, catalog.Default(), false))(t)
	must.Do(t, s.Run(t.Context(), sweep.Options{Jobs: jobs}))
	return s
}

// written are the files that Write leaves.
func written(t *testing.T, b *Board) map[string]string {
	t.Helper()
	dir := t.TempDir()
	must.Get(b.Write(dir))(t)
	out := map[string]string{}
	for _, pattern := range []string{"*", "effects/*"} {
		found := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		for _, path := range found {
			if b, err := os.ReadFile(path); err == nil {
				out[filepath.Base(path)] = string(b)
			}
		}
	}
	return out
}

// The board has the runs' own values, the better arms first, and the same bytes for any number of jobs.
func TestBoard(t *testing.T) {
	var first map[string]string
	for _, jobs := range []int{1, 3} {
		dir := filepath.Join(t.TempDir(), "rates")
		s := swept(t, dir, jobs, 2)
		b := must.Get(Read(s, "", Best))(t)
		files := written(t, b)
		if first == nil {
			first = files
		}
		if len(files) != 2+3*4 {
			t.Errorf("files: %d", len(files))
		}
		for name, text := range files {
			if text != first[name] {
				t.Errorf("%s differs with %d jobs", name, jobs)
			}
		}
		says(t, files, 16, "a run", "mean over the seeds and the values of the other keys")
		means := func(a Arm) float64 { return float64(a.Mean) }
		if len(b.Arms) != 8 || !slices.IsSortedFunc(b.Arms, func(x, y Arm) int {
			return int(max(-1, min(1,
				1e9*(means(x)-means(y)))))
		}) {
			t.Errorf("arms are not in the order of their cost: %s", b.Text())
		}
		a := b.Arms[0]
		if a.Rank != 1 || a.Seeds != 2 || a.Mean != (a.Runs[0].Value+a.Runs[1].Value)/2 || a.Low > a.IQM || a.High < a.IQM {
			t.Errorf("%+v", a)
		}
		for _, r := range a.Runs { // the least cost of the two evaluations
			c := must.Get(eval.ReadCurve(filepath.Join(dir, r.Folder), "", "eval/cost"))(t)
			if least := slices.Min(c.Values); float64(r.Value) != least || float64(r.Last) != c.Values[len(c.Values)-1] {
				t.Errorf("%s: value %g at %d, last %g; its curve is %v", r.Folder, r.Value, r.Step, r.Last, c.Values)
			}
		}
	}
}

// Another metric is that of the same checkpoints; more is better of the return.
func TestMetrics(t *testing.T) {
	s := swept(t, filepath.Join(t.TempDir(), "a"), 2, 0)
	cost := must.Get(Read(s, "cost", Best))(t)
	ret := must.Get(Read(s, "return", Best))(t)
	if cost.Metric.Better != envs.Lower || ret.Metric.Better != envs.Higher || len(ret.Arms) != 4 {
		t.Fatalf("%+v, %+v", cost.Metric, ret.Metric)
	}
	for i, a := range cost.Arms { // an episode's return is less its cost, of rewards in float32
		b := ret.Arms[i]
		if a.Name != b.Name || a.Runs[0].Step != b.Runs[0].Step || math.Abs(float64(a.Mean+b.Mean)) > 1e-6 {
			t.Errorf("%+v, %+v", a, b)
		}
	}
	// A few values of the other keys are told apart.
	says(t, written(t, cost), 8, "hidden=[4] (runs and their mean)", "hidden=[6] (runs and their mean)",
		"Effect of actor_rate on cost in stoker/LQR-v1", "agent.actor_rate", "cost, best evaluation")
	last := must.Get(Read(s, "", Last))(t)
	for _, a := range last.Arms {
		if a.Mean != a.LastMean || a.Runs[0].Step != 40 {
			t.Errorf("last: %+v", a)
		}
	}
	for metric, want := range map[string]string{"cots": "did you mean cost?", "x": "reports cost, return"} {
		if _, err := Read(s, metric, Best); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err,
			train.ErrUsage) {
			t.Errorf("metric %s: %v", metric, err)
		}
	}
	if _, err := Read(s, "", "middle"); !errors.Is(err, train.ErrUsage) {
		t.Errorf("at the middle: %v", err)
	}
}

// What was not known at a run's best checkpoint has no value there, whatever other evaluations say.
func TestUnknownAtBest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	s := swept(t, dir, 2, 0)
	arm := must.Get(Read(s, "cost", Best))(t).Arms[0]
	r := arm.Runs[0]
	file := filepath.Join(dir, r.Folder, "metrics.jsonl")
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^(\{"step":%d,.*"eval/mean_reward":)[^,}]+`, r.Step))
	before := must.Get(os.ReadFile(file))(t)
	after := line.ReplaceAll(before, []byte("${1}null"))
	if bytes.Equal(after, before) {
		t.Fatalf("%s has no evaluation at step %d", file, r.Step)
	}
	must.Do(t, os.WriteFile(file, after, 0o644))
	for _, a := range must.Get(Read(s, "return", Best))(t).Arms {
		if got := a.Runs[0]; a.Name == arm.Name && (a.Seeds != 1 || !math.IsNaN(float64(got.Value)) || got.Step != r.Step) {
			t.Errorf("%d seeds, the return is %g at step %d, want one seed, and none at %d", a.Seeds, got.Value, got.Step, r.Step)
		}
	}
}

// Without evaluations, arms are ranked by what was seen in training.
func TestNoEvaluations(t *testing.T) {
	b := must.Get(Read(swept(t, filepath.Join(t.TempDir(), "a"), 2, 0, "train.evaluate.every=0"), "return", Best))(t)
	if b.Tag != "rollout/ep_rew_mean" || b.At != Last || b.Arms[0].Seeds != 2 || !strings.Contains(b.Text(),
		"mean of the last training episodes") {
		t.Errorf("%s", b.Text())
	}
}

// The text says what is not there and why, and what the winner's numbers are worth.
func TestText(t *testing.T) {
	s := swept(t, filepath.Join(t.TempDir(), "rates"), 2, 0, "train.steps=20")
	s.Arms[0].Runs[0] = sweep.Run{Seed: 1, Folder: s.Arms[0].Runs[0].Folder, Status: sweep.Failed,
		Error: "no memory\nmore"}
	for i := range s.Arms[1].Runs {
		s.Arms[1].Runs[i].Status = sweep.Waiting
	}
	b := must.Get(Read(s, "", Best))(t)
	text := b.Text()
	for _, want := range []string{
		"rates: 4 arms × 2 seeds in stoker/LQR-v1\ncost, lower is better: evaluation during training, at each run's best checkpoint",
		"rank  actor_rate  hidden  seeds", " 1/2 ", "\n–     1e-4        [6]     0/2    n/a ",
		"waiting: actor_rate-1e-4_hidden-6-s1, actor_rate-1e-4_hidden-6-s2",
		"failed: actor_rate-1e-4_hidden-4-s1: no memory\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	best := b.Arms[0]
	if want := best.Name + " is the best of 3 arms by the same seeds: its numbers are optimistic"; !strings.Contains(b.Caution(), want) {
		t.Errorf("%s, want %s", b.Caution(), want)
	}
	want := fmt.Sprintf("[stoker train tiny.yaml --set train.steps=20 --set %s --set %s --seeds 3-7 --name rates-best]",
		best.Settings[0], best.Settings[1])
	if got := fmt.Sprint(b.Winner.Command); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	csv := written(t, b)[CSVFile]
	if head := "rank,arm,agent.actor_rate,agent.hidden,metric,seeds,failed,mean,iqm,low,high,last_mean\n1,"; !strings.HasPrefix(csv, head) {
		t.Errorf("%s", csv)
	}
}

// says fails the test where the figure of the rate lacks a text, or the data of the width another number of runs.
func says(t *testing.T, files map[string]string, runs int, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(files["agent.actor_rate.svg"], w) {
			t.Errorf("the figure does not say %q", w)
		}
	}
	if n := strings.Count(files["agent.hidden.csv"], "\n"); n != 1+runs {
		t.Errorf("there are %d lines of data, want %d", n, 1+runs)
	}
}
