package placement

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// tpchSeeds are files of jobs from which fuzzing begins: a chain, a diamond, stages with one sort of duration only,
// several jobs, and what is refused.
var tpchSeeds = []string{
	`{"note":"a chain","dags":[{"query":7,"size":"2g","edges":[[0,1],[1,2]],"stages":[
	 {"tasks":4,"fresh_ms":{"2":900},"first_wave_ms":{"2":100,"20":300},"rest_wave_ms":{"2":10}},
	 {"tasks":40,"fresh_ms":{},"first_wave_ms":{"10":100,"40":300},"rest_wave_ms":{"10":10,"40":30}},
	 {"tasks":1,"fresh_ms":{"5":60},"first_wave_ms":{},"rest_wave_ms":{}}]}]}`,
	`{"dags":[{"query":1,"size":"5g","edges":[[0,1],[0,2],[1,3],[2,3],[1,3]],"stages":[{"tasks":1,"first_wave_ms":{"1":1}},
	 {"tasks":2,"first_wave_ms":{"1":1e3}},{"tasks":300,"first_wave_ms":{"1":1e6},"rest_wave_ms":{"1":0.5}},{"tasks":16777216,"fresh_ms":{"1":1e2}}]},
	 {"query":2,"size":"2g","stages":[{"tasks":9,"fresh_ms":{"80":12.5}}]}]}`,
	`{"dags":[{"size":"2g","edges":[[0,1],[1,0]],"stages":[{"tasks":1,"fresh_ms":{"1":1}},{"tasks":1,"fresh_ms":{"1":1}}]}]}`,
	`{"dags":[{"edges":[[0,9]],"stages":[{"tasks":0,"fresh_ms":{"x":-1}}]}]}`,
	`{"dags":[{"stages":[{"tasks":3,"fresh_ms":{"1":5000,"01":7000}}]}]}`,
	`{"dags":[]}`,
}

// Whatever a file of TPC-H's jobs says, it is refused with the same words each time, or makes a system that is the
// same each time and whose episodes play.
func FuzzTPCH(f *testing.F) {
	for _, s := range tpchSeeds {
		f.Add([]byte(s))
	}
	c := Default()
	c.Workload, c.TPCH.Path, c.TPCH.Sizes, c.Seconds = TPCH, filepath.Join(f.TempDir(), "jobs.json"), nil, 5
	f.Fuzz(func(t *testing.T, b []byte) {
		must.Do(t, os.WriteFile(c.TPCH.Path, b, 0o600))
		defer os.Remove(c.TPCH.Path) // some file systems wait for the disk where a file is overwritten, none where it is new
		s, err := NewSystem(c, workload.Default())
		again, twice := NewSystem(c, workload.Default())
		if err != nil {
			if twice == nil || twice.Error() != err.Error() {
				t.Errorf("is refused with %v, then with %v", err, twice)
			}
			return
		}
		if twice != nil || again.fingerprint != s.fingerprint {
			t.Fatalf("the same file makes another system, or none: %v", twice)
		}
		e := must.Get(s.Environment())(t)
		obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
		must.Do(t, e.Reset(1, nil, obs))
		for range 20 {
			act.Kinds[0][0] = float32(e.layout.Wait())
			must.Do(t, e.Step(act, obs, out))
			if out.Terminated || out.Truncated {
				return
			}
		}
	})
}
