package configs

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// two are jobs: a chain of two stages, and two stages that a third waits for.
const twoJobs = `{"dags": [
 {"query": 1, "size": "1g", "edges": [[0, 1]], "stages": [
  {"tasks": 10, "fresh_ms": {"2": 3000, "10": 5000}, "first_wave_ms": {"2": 2000}, "rest_wave_ms": {"2": 1000, "4": 2000}},
  {"tasks": 1, "fresh_ms": {"2": 500}}]},
 {"query": 2, "size": "1g", "edges": [[0, 2], [1, 2]], "stages": [
  {"tasks": 1, "rest_wave_ms": {"2": 1000}}, {"tasks": 1, "rest_wave_ms": {"2": 3000}}, {"tasks": 1, "rest_wave_ms": {"2": 2000}}]}]}`

func TestReadJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.json")
	must.Do(t, os.WriteFile(file, []byte(twoJobs), 0o600))
	if names, err := JobNames(file); err != nil || strings.Join(names, " ") != "tpch-1-1g tpch-2-1g" || !IsJobs(file) {
		t.Fatalf("jobs %v (%v)", names, err)
	}
	m := must.Get(ReadJob(file, Job{Name: "tpch-1-1g", ExecutorMB: 1024, Tariff: variants.Lambda}))(t)
	// One executor: a first wave of 3 s and nine of 1 s, then 0.5 s; ten: one wave of 5 s.
	fast, err := m.Solve(context.Background(), variants.Problem{Objective: variants.Time})
	if err != nil || math.Abs(fast.Seconds-5.5) > 1e-9 {
		t.Errorf("fastest %+v (%v), want 5.5 s", fast, err)
	}
	slow, err := m.Solve(context.Background(), variants.Problem{Objective: variants.Cost})
	if err != nil || math.Abs(slow.Seconds-12.5) > 1e-9 || math.Abs(slow.USD-(12.5*16.6667+0.4)) > 1e-3 {
		t.Errorf("cheapest %+v (%v), want 12.5 s and their GB-seconds", slow, err)
	}
	if m, err = ReadJob(file, Job{Name: "tpch-2-1g", ExecutorMB: 512, Tariff: variants.Lambda}); err != nil {
		t.Fatal(err)
	}
	if fast, err = m.Solve(context.Background(), variants.Problem{Objective: variants.Time}); err != nil || fast.Seconds != 5 {
		t.Errorf("fastest %+v (%v), want 5 s", fast, err)
	}
	for name, c := range map[string]struct {
		k    Job
		want string
	}{
		"no name": {Job{ExecutorMB: 1}, "has 2 jobs: name one, such as tpch-1-1g"},
		"name":    {Job{Name: "x", ExecutorMB: 1}, `has no job "x", it has 2: tpch-1-1g, tpch-2-1g`},
		"memory":  {Job{Name: "tpch-1-1g"}, "an executor has 0 MB"},
		"tariff":  {Job{Name: "tpch-1-1g", ExecutorMB: 1, Tariff: "free"}, "tariff"},
	} {
		if _, err := ReadJob(file, c.k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// Every measured job is an application whose cheapest plan at twice the least time is proven optimal.
func TestRealJobs(t *testing.T) {
	file := filepath.Join(realdata.Dir(t), "dags", "tpch_dags_summary.json")
	names := must.Get(JobNames(file))(t)
	for i := 0; i < len(names); i += 11 {
		m := must.Get(ReadJob(file, Job{Name: names[i], ExecutorMB: 1024, Tariff: variants.Lambda}))(t)
		fast := must.Get(m.Solve(context.Background(), variants.Problem{Objective: variants.Time}))(t)
		s, err := m.Search(context.Background(), variants.Problem{Objective: variants.Cost, Latency: 2 * fast.Seconds}, nil)
		if err != nil || !s.Exact || s.USD > fast.USD {
			t.Errorf("%s: %+v (%v)", names[i], s, err)
		}
	}
}
