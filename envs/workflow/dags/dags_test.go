package dags

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// two are made up: a chain of three stages, and two that a third waits for.
const two = `{"dags": [
 {"query": 1, "size": "1g", "edges": [[0, 1], [1, 2]], "stages": [
  {"tasks": 10, "fresh_ms": {"2": 3000, "10": 5000}, "first_wave_ms": {"2": 2000}, "rest_wave_ms": {"2": 1000, "4": 2000}},
  {"tasks": 1, "fresh_ms": {"2": 500}, "first_wave_ms": {}, "rest_wave_ms": {}},
  {"tasks": 3, "first_wave_ms": {"8": 700}}]},
 {"query": 2, "size": "1g", "edges": [[0, 2], [1, 2]], "stages": [
  {"tasks": 1, "rest_wave_ms": {"2": 1000}}, {"tasks": 1, "rest_wave_ms": {"2": 3000}}, {"tasks": 1, "rest_wave_ms": {"2": 2000}}]}]}`

func TestRead(t *testing.T) {
	jobs := must.Get(Read(strings.NewReader(two)))(t)
	if len(jobs) != 2 || jobs[0].Name != "tpch-1-1g" || jobs[1].Graph().Entry != Start || jobs[0].Graph().Entry != "s1" {
		t.Fatalf("jobs %+v", jobs)
	}
	for _, c := range []struct {
		stage, executors int
		fresh            bool
		want             float64
	}{
		{0, 2, true, 3 + 4*1}, {0, 2, false, 2 + 4*1}, {0, 3, true, 3.25 + 3*1.5}, {0, 20, true, 5}, {0, 0, false, 2 + 9*1},
		{1, 2, false, 0.5}, {2, 1, true, 3 * 0.7},
	} {
		if got := jobs[0].Stages[c.stage].Seconds(c.executors, c.fresh); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("stage %d with %d executors: %g s, want %g", c.stage, c.executors, got, c.want)
		}
	}
	if got := response(t, &jobs[1], 2); math.Abs(got-5) > 1e-12 {
		t.Errorf("the second job takes %g s, want 5", got)
	}
}

// response returns a job's time where each stage has so many executors of its own.
func response(t *testing.T, j *Job, executors int) float64 {
	t.Helper()
	w := must.Get(j.Graph().Compile())(t)
	times := make([]float64, w.NumNodes())
	for k := range j.Stages {
		times[k] = j.Stages[k].Seconds(executors, true)
	}
	return w.Response(times, workflow.Delays{})
}

func TestWrong(t *testing.T) {
	stage := func(s string) string {
		return `{"dags": [{"query": 3, "size": "2g", "stages": [{` + s + `}]}]}`
	}
	for text, want := range map[string]string{
		"":              "unexpected end",
		"{}":            "no jobs",
		`{"dags":[{}]}`: "job 1 (tpch-0-): it has 0 stages",
		stage(`"tasks": 0, "fresh_ms": {"2": 1}`):          "stage 0: tasks is 0",
		stage(`"tasks": 1`):                                "stage 0: it has no times",
		stage(`"tasks": 1, "fresh_ms": {"x": 1}`):          `stage 0: fresh_ms: "x" is no number of executors`,
		stage(`"tasks": 1, "fresh_ms": {"2": -1}`):         "fresh_ms: -1 ms with 2 executors",
		stage(`"tasks": 1, "fresh_ms": {"2": 1, "02": 1}`): "2 executors are there twice",
		strings.Replace(two, "[1, 2]", "[1, 3]", 1):        "edges[1] is [1 3], want the numbers of two stages, 0 to 2",
		strings.Replace(two, "[1, 2]", "[1, 0]", 1):        "job 1 (tpch-1-1g): workflow",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// The 154 jobs of Decima: 2 to 18 stages, and more executors make none of them slower by more than the data's own rises.
func TestDecima(t *testing.T) {
	f := must.Get(os.Open(filepath.Join(realdata.Dir(t), "dags", "tpch_dags_summary.json")))(t)
	defer f.Close()
	jobs := must.Get(Read(f))(t)
	stages, roots := 0, 0
	for i := range jobs {
		j := &jobs[i]
		stages += len(j.Stages)
		if j.Graph().Entry == Start {
			roots++
		}
		few, many := response(t, j, 2), response(t, j, 100)
		if !(few > 0) || many > few {
			t.Errorf("%s: %g s with 2 executors, %g s with 100", j.Name, few, many)
		}
	}
	if len(jobs) != 154 || stages != 1414 || roots != 126 {
		t.Errorf("%d jobs, %d stages, %d jobs with several first stages; want 154, 1414, 126", len(jobs), stages, roots)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(two))
	f.Fuzz(func(t *testing.T, data []byte) {
		jobs, err := Read(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		for i := range jobs {
			for k := range jobs[i].Stages {
				if s := jobs[i].Stages[k].Seconds(3, false); !(s > 0) {
					t.Fatalf("job %d, stage %d takes %g s", i, k, s)
				}
			}
		}
	})
}
