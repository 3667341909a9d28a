package placement

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// An observer that is opened with the written configuration, and no file, sees what the environment sees whose functions
// come from one, bit for bit.
func TestWrittenNeedsNoFile(t *testing.T) {
	jobs := filepath.Join(t.TempDir(), "jobs.json")
	must.Do(t, os.WriteFile(jobs, []byte(tpchSeeds[1]), 0o600))
	c := Default()
	c.Workload, c.TPCH.Path, c.TPCH.Sizes, c.TPCH.Scale, c.Load = TPCH, jobs, nil, 1e-5, 1.2
	trace := Default()
	trace.Workload, trace.Load = Azure, 0.8
	for name, c := range map[string]Config{TPCH: c, Azure: trace} {
		e := must.Get(New(c, workload.Default()))(t)
		w := workload.Default()
		w.Path = "elsewhere"
		o, err := OpenObserver(jsonOf(t, e.Portable()), jsonOf(t, w))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen, sent, busy := envs.NewObservation(o.Spec()), &Cluster{}, 0
		watch(t, e, 1, 400, func(obs *envs.Observation, _ *envs.Action) {
			e.Cluster(sent)
			if err := o.Observe(sent, seen); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if what := unequal(obs, seen); what != "" {
				t.Fatalf("%s, %g s: %s differs", name, sent.Now, what)
			}
			if len(sent.Running) > 0 {
				busy++
			}
		})
		if busy < 100 {
			t.Errorf("%s: something runs in %d steps, want 100", name, busy)
		}
		again := must.Get(New(e.s.Written(), workload.Default()))(t)
		if a, b := string(jsonOf(t, again.Portable())), string(jsonOf(t, e.Portable())); a != b {
			t.Errorf("%s: written again:\n%s\nwant\n%s", name, a, b)
		}
	}
}
