package eval

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// elsewhere is a farm of this process with workers that evaluate, and counts their units.
func elsewhere(t *testing.T, workers int) (*train.Elsewhere, *atomic.Int64) {
	t.Helper()
	e, units := &train.Elsewhere{Farm: farm.NewLocal(), Revision: "test", Kernels: must.Get(train.Kernels())(t)}, new(atomic.Int64)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range workers {
		w := &train.Worker{Farm: e.Farm, Scratch: t.TempDir(), MaxSteps: 1e6, FetchLimit: 1 << 24, Revision: "test", Kernels: e.Kernels,
			Evaluate: Evaluate}
		do := func(ctx context.Context, l *farm.Lease, n *atomic.Int64) (farm.Result, []farm.File, error) {
			units.Add(1)
			return w.Do(ctx, l, n)
		}
		all.Go(func() {
			_ = farm.Work(ctx, e.Farm, farm.Worker{Name: fmt.Sprint("w", i), Slots: 1, Do: do}) // its end is the test's
		})
	}
	t.Cleanup(func() { stop(); all.Wait() })
	return e, units
}

// both plays a choice at home and by workers, with policies that no worker can make beside it.
func both(t *testing.T, c *Choice, workers int, more ...Contestant) (home, far *Played, units int64) {
	t.Helper()
	x := c.Experiment
	r := Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }, Contestants: append(more, c.Contestants...),
		Seeds: seeds(7), Workers: 2, Traced: 3}
	home = must.Get(Run(t.Context(), r))(t)
	e, n := elsewhere(t, workers)
	r.Away, r.Experiment = e, x
	return home, must.Get(Run(t.Context(), r))(t), n.Load()
}

// What workers play is what is played at home: episodes, traced steps, samples and the traces drawn.
func TestAway(t *testing.T) {
	const windows = "env.windows=3"
	for what, c := range map[string]struct {
		choice *Choice
		units  int64 // at least
	}{
		"learned":   {must.Get(Choose(catalog.Default(), of(t, "s1", "s2", "wide"), "", nil))(t), 3},
		"baselines": {must.Get(Choose(catalog.Default(), []string{"rule", "autoscaler", "fixed"}, "sizing/attmf", []string{windows}))(t), 3},
		"zoo":       {must.Get(Choose(catalog.Default(), []string{"zoo:sizing-any", "fixed"}, "", []string{windows}))(t), 2},
		"traces":    {must.Get(Choose(catalog.Default(), []string{"fixed"}, "sizing/traces", []string{windows}))(t), 1},
	} {
		home, far, units := both(t, c.choice, 2)
		if !reflect.DeepEqual(home.Episodes, far.Episodes) || !reflect.DeepEqual(home.Steps, far.Steps) ||
			!reflect.DeepEqual(home.Samples, far.Samples) || !reflect.DeepEqual(home.TraceOf, far.TraceOf) {
			t.Errorf("%s: workers play other episodes", what)
		}
		if home.Spec.ID != far.Spec.ID || units < c.units {
			t.Errorf("%s: %d units in %s, want at least %d in %s", what, units, far.Spec.ID, c.units, home.Spec.ID)
		}
	}
}

// A policy that no worker can make from data plays at home, beside the others.
func TestAwayBeside(t *testing.T) {
	c := must.Get(Choose(catalog.Default(), of(t, "s1"), "", nil))(t)
	own := Contestant{Name: "own", Kind: catalog.Heuristic, Versions: []Version{{New: c.Contestants[0].Versions[0].New}}}
	home, far, units := both(t, c, 1, own)
	if !reflect.DeepEqual(home.Episodes, far.Episodes) || units < 2 { // how many depends on the first one's time
		t.Errorf("%d units, want 2 or more: the first episode and the others", units)
	}
	if !reflect.DeepEqual(far.Episodes[0], far.Episodes[1]) {
		t.Error("the same policy plays otherwise at home")
	}
}

// An evaluation by workers leaves the files of one at home, frontiers included.
func TestAwayFiles(t *testing.T) {
	c := must.Get(Choose(catalog.Default(), nil, "sizing/attmf", []string{"env.windows=3", "eval.seeds=1-3",
		"eval.baselines=[rule, autoscaler, {name: autoscaler, cpu: 0.4}]"}))(t)
	home, far := t.TempDir(), t.TempDir()
	leave(t, c, home)
	e, _ := elsewhere(t, 2)
	leave(t, c, far, func(r *Request) { r.Away, r.Experiment = e, c.Experiment })
	for _, name := range []string{SummaryFile, ScoresFile, stepsFile, samplesFile, frontierPointsFile} {
		got := must.Get(os.ReadFile(filepath.Join(far, name)))(t)
		if want := must.Get(os.ReadFile(filepath.Join(home, name)))(t); string(got) != string(want) {
			t.Errorf("%s differs from that of one process", name)
		}
	}
}

// What is wrong with a unit is its result. A result that is not what was asked for is refused.
func TestAwayRefuses(t *testing.T) {
	e, _ := elsewhere(t, 0)
	c := must.Get(Choose(catalog.Default(), of(t, "s1"), "", nil))(t)
	text, _, err := e.Describe(c.Experiment)
	must.Do(t, err)
	w := &train.Worker{Farm: e.Farm, Scratch: t.TempDir(), MaxSteps: 1e6, Revision: "test", Kernels: e.Kernels, Evaluate: Evaluate}
	bad := farm.HashOf([]byte("no policy"))
	must.Do(t, e.Farm.Put(t.Context(), farm.InputsKey, farm.File{Hash: bad}, strings.NewReader("no policy")))
	for want, q := range map[string]playing{
		"policy.safetensors":         {Experiment: text, Seeds: []uint64{1}},
		"0 workload seeds":           {Experiment: text, Baseline: "riccati", Config: []byte("{}")},
		`no policy "nobody"`:         {Experiment: text, Baseline: "nobody", Seeds: []uint64{1}},
		"workload seed 1 is given":   {Experiment: text, Baseline: "riccati", Config: []byte("{}"), Seeds: []uint64{1, 1}},
		"a path of this machine":     {Experiment: text, Baseline: "riccati", Config: []byte(`{"file": "/etc/passwd"}`), Seeds: []uint64{1}},
		"it reads a file":            {Experiment: text, Baseline: "autoscaler", Config: []byte(`{"file": "x"}`), Seeds: []uint64{1}},
		"want keys and values":       {Seeds: []uint64{1}, Baseline: "riccati", Experiment: []byte(`""`)},
		"10001 workload seeds, want": {Seeds: make([]uint64, maxSeeds+1), Baseline: "riccati", Experiment: text},
		"it has more than 9 steps":   {Experiment: text, Baseline: "riccati", Config: []byte("{}"), Seeds: []uint64{7, 8}},
		"larger than --fetch-limit":  {Experiment: text, Seeds: []uint64{1}, Traced: 1},
	} {
		u := farm.Unit{Kind: farm.Evaluate, Config: must.Get(json.Marshal(q))(t), Revision: "test", Kernels: e.Kernels}
		if q.Traced == 1 {
			u.Inputs = map[string]farm.Hash{policyInput: bad}
		}
		if w.MaxSteps = 1e6; len(q.Seeds) == 2 && q.Seeds[0] == 7 {
			w.MaxSteps = 9
		}
		r, _, err := w.Do(t.Context(), farm.NewLease(farm.Task{Unit: u}, nil), new(atomic.Int64))
		if err != nil || !strings.Contains(r.Error, want) {
			t.Errorf("error %v, result %q, want a result with %q", err, r.Error, want)
		}
	}
	spec := must.Get(train.NewEnv(c.Experiment, ""))(t).Spec()
	one := envs.Episode{Seed: 1, Info: make([]float64, len(spec.Info))}
	for want, p := range map[string]portion{
		"0 episodes, want 1":            {},
		"is of seed 2":                  {Episodes: []envs.Episode{{Seed: 2, Info: one.Info}}, Steps: make([][]StepRow, 1), Samples: make([][]SampleSet, 1)},
		"has 1 distributions, want 0":   {Episodes: []envs.Episode{one}, Steps: make([][]StepRow, 1), Samples: [][]SampleSet{{{1}}}},
		"is of seed 1 with 0 quantitie": {Episodes: []envs.Episode{{Seed: 1}}, Steps: make([][]StepRow, 1), Samples: make([][]SampleSet, 1)},
	} {
		path := filepath.Join(t.TempDir(), playedFile)
		f := must.Get(os.Create(path))(t)
		must.Do(t, gob.NewEncoder(f).Encode(p))
		must.Do(t, f.Close())
		if _, err := readPortion(path, []uint64{1}, spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
