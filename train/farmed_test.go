package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/internal/must"
)

const revision = "test"

// away is a farm with some workers, whose folders are not those of the coordinator.
func away(t *testing.T, f farm.Farm, workers int, change func(*Worker)) *Elsewhere {
	t.Helper()
	kernels := must.Get(Kernels())(t)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range workers {
		w := &Worker{Farm: f, Options: Options{Version: "test", Command: []string{"worker"}}, Scratch: t.TempDir(), FetchLimit: 1 << 20,
			MaxSteps: 1e6, Revision: revision, Kernels: kernels}
		if change != nil {
			change(w)
		}
		all.Go(func() {
			_ = farm.Work(ctx, f, farm.Worker{Name: fmt.Sprint("w", i), Slots: 1, Do: w.Do}) // its end is the test's
		})
	}
	t.Cleanup(func() { stop(); all.Wait() })
	return &Elsewhere{Farm: f, Revision: revision, Kernels: kernels}
}

// remote is a run called after its experiment and seed.
func remote(e *Elsewhere, runs, name string, text string, t *testing.T, sets ...string) Planned {
	x := parse(t, text, sets...)
	return Planned{Experiment: x, Options: Options{RunsDir: runs, Name: name, Version: "test", Elsewhere: e}}
}

// Runs that workers carry out leave the bytes that they leave at home, whatever the number of workers.
func TestElsewhere(t *testing.T) {
	home := map[string]string{}
	for name, text := range small {
		home[name] = start(t, parse(t, text))
	}
	for _, workers := range []int{1, 3} {
		e, runs := away(t, farm.NewLocal(), workers, nil), t.TempDir()
		var list []Planned
		var begun, ended sync.Map
		for name, text := range small {
			p := remote(e, runs, name, text, t)
			p.Begin = func() { begun.Store(name, true) }
			p.End = func(o Outcome) { ended.Store(name, o.Err == nil) }
			list = append(list, p)
		}
		for i, o := range Together(t.Context(), list, 1) {
			p := list[i]
			name := p.Options.Name
			if o.Err != nil || !o.Begun {
				t.Fatalf("%s: %v", name, o.Err)
			}
			dir := filepath.Join(runs, name)
			same(t, name, outcome(t, fast{}, dir), outcome(t, fast{}, home[name]))
			got := must.Get(os.ReadFile(filepath.Join(dir, configFile)))(t)
			if want := must.Get(os.ReadFile(filepath.Join(home[name], configFile)))(t); string(got) != string(want) {
				t.Errorf("%s: config.yaml is\n%s\nwant\n%s", name, got, want)
			}
			if r, err := checkpoints.Check(dir); err != nil {
				t.Errorf("%v\n%v", err, r)
			}
			if s := must.Get(ReadStanding(dir))(t); !s.Finished() {
				t.Errorf("%s is %+v", name, s)
			}
			if o.Result.Dir != dir || o.Result.Steps != p.Experiment.Train.Steps || filepath.Dir(filepath.Dir(o.Result.Checkpoint)) != dir {
				t.Errorf("%s: result %+v", name, o.Result)
			}
			if ok, _ := ended.Load(name); ok != true {
				t.Errorf("%s: End was not called", name)
			}
			if ok, _ := begun.Load(name); ok != true {
				t.Errorf("%s: Begin was not called", name)
			}
			if workers > 1 {
				continue
			}
			// It goes on at home.
			res := must.Get(Resume(t.Context(), dir, Options{Steps: 60}))(t)
			if res.Steps != 60 {
				t.Errorf("%s went on to %d steps, want 60", name, res.Steps)
			}
		}
	}
}

// stopping is a farm whose workers are stopped once, some way into a unit.
type stopping struct {
	farm.Farm
	mu      sync.Mutex
	resumed []int // files that were kept, by lease
}

func (s *stopping) Lease(ctx context.Context, worker string) (*farm.Lease, error) {
	l, err := s.Farm.Lease(ctx, worker)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.resumed = append(s.resumed, len(l.Kept))
	}
	return l, err
}

// A worker that is stopped hands its run back with a checkpoint, the next goes on from it, and the bytes are the same.
func TestHandedBack(t *testing.T) {
	for _, stops := range []int{0, 5, 12} { // a stop before the first step, and later
		f := &stopping{Farm: farm.NewLocal()}
		kernels := must.Get(Kernels())(t)
		e := &Elsewhere{Farm: f, Revision: revision, Kernels: kernels}
		runs := t.TempDir()
		over := make(chan []Outcome)
		go func() { over <- Together(t.Context(), []Planned{remote(e, runs, "a", small["lqr"], t)}, 1) }()
		w := &Worker{Farm: f, Options: Options{Version: "test", FS: fast{}}, Scratch: t.TempDir(), MaxSteps: 1e6, Revision: revision, Kernels: kernels}
		l := must.Get(f.Lease(t.Context(), "one"))(t)
		r, kept, err := w.Do(&countdown{t.Context(), stops}, l, new(atomic.Int64))
		if err == nil {
			t.Fatalf("the worker was not stopped: %+v", r)
		}
		if stops > 0 && len(kept) == 0 {
			t.Fatalf("nothing is kept of a run that was stopped after %d looks", stops)
		}
		must.Do(t, f.Return(t.Context(), l, kept))
		away(t, f, 1, nil)
		for _, o := range <-over {
			must.Do(t, o.Err)
		}
		same(t, "handed back", outcome(t, fast{}, filepath.Join(runs, "a")), finished(t, parse(t, small["lqr"])))
		if got := f.resumed[len(f.resumed)-1]; stops > 0 && got == 0 {
			t.Error("the second worker began anew")
		}
	}
}

// A run that was begun at home goes on elsewhere.
func TestResumeElsewhere(t *testing.T) {
	runs := t.TempDir()
	o := Options{RunsDir: runs, Name: "a", Version: "test"}
	if _, err := Start(&countdown{t.Context(), 9}, parse(t, small["sizing"]), o); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	if s := must.Get(ReadStanding(filepath.Join(runs, "a")))(t); s.Steps == 0 {
		t.Fatal("nothing was done at home")
	}
	p := remote(away(t, farm.NewLocal(), 1, nil), runs, "a", small["sizing"], t)
	p.Resume = true
	for _, o := range Together(t.Context(), []Planned{p}, 1) {
		must.Do(t, o.Err)
	}
	same(t, "begun at home", outcome(t, fast{}, filepath.Join(runs, "a")), finished(t, parse(t, small["sizing"])))
}

// Where the coordinator is told to stop, runs that are not over are those of another day.
func TestElsewhereStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	f := farm.NewLocal()
	e := &Elsewhere{Farm: f, Revision: revision, Kernels: must.Get(Kernels())(t)}
	go func() {
		_, _ = f.Lease(t.Context(), "w") // it never does it
		cancel(errStop)
	}()
	for _, o := range Together(ctx, []Planned{remote(e, t.TempDir(), "a", small["lqr"], t)}, 1) {
		if o.Begun && !errors.Is(o.Err, errStop) {
			t.Errorf("%+v", o)
		}
	}
}

// What a worker refuses, and why. To a worker a unit is hostile.
func TestWorkerRefuses(t *testing.T) {
	f := farm.NewLocal()
	w := &Worker{Farm: f, Scratch: t.TempDir(), Revision: revision, Kernels: "k", MaxSteps: 1000, FetchLimit: 10}
	p := remote(nil, t.TempDir(), "a", small["lqr"], t)
	good, _, err := p.unit(&Elsewhere{Revision: revision, Kernels: "k"})
	must.Do(t, err)
	big := []byte("more than ten bytes")
	must.Do(t, f.Put(t.Context(), farm.InputsKey, farm.File{Hash: farm.HashOf(big)}, strings.NewReader(string(big))))
	for want, change := range map[string]func(u *farm.Unit){
		"kind is evaluate":          func(u *farm.Unit) { u.Kind = "evaluate" },
		"unknown key":               func(u *farm.Unit) { u.Config = []byte(`{"shell": "x"}`) },
		"a path of this machine":    func(u *farm.Unit) { u.Config = replace(u.Config, `"name":"lqr"`, `"name":"/etc/passwd"`) },
		"x.y is":                    func(u *farm.Unit) { u.Config = []byte(`{"x": {"y": ["../../a"]}}`) },
		"trace is not among":        func(u *farm.Unit) { u.Config = replace(u.Config, `"path":""`, `"path":"trace"`) },
		"can't be fetched":          func(u *farm.Unit) { u.Inputs = map[string]farm.Hash{"a": farm.HashOf(nil)} },
		"larger than --fetch-limit": func(u *farm.Unit) { u.Inputs = map[string]farm.Hash{"a": farm.HashOf(big)} },
		"does at most 1000":         func(u *farm.Unit) { u.Config = replace(u.Config, `"steps":40`, `"steps":1001`) },
		"agent.hidden":              func(u *farm.Unit) { u.Config = replace(u.Config, `"hidden":[4]`, `"hidden":[-4]`) },
	} {
		u := good
		change(&u)
		r, _, err := w.Do(t.Context(), farm.NewLease(farm.Task{Unit: u}, nil), new(atomic.Int64))
		if err != nil || !strings.Contains(r.Error, want) {
			t.Errorf("error %v, result %q, want a result with %q", err, r.Error, want)
		}
	}
	for _, change := range []func(u *farm.Unit){func(u *farm.Unit) { u.Revision = "other" }, func(u *farm.Unit) { u.Kernels = "go" }} {
		u := good
		change(&u)
		l := farm.NewLease(farm.Task{Unit: u}, nil)
		var foreign *farm.ForeignError
		if _, _, err := w.Do(t.Context(), l, new(atomic.Int64)); !errors.As(err, &foreign) {
			t.Errorf("%v, want a refusal", err)
		}
		w.Inexact = true
		if r, _, err := w.Do(t.Context(), l, new(atomic.Int64)); err != nil || r.Error != "" || !r.Inexact {
			t.Errorf("with --inexact: %v, %+v", err, r)
		}
		w.Inexact = false
	}
	if left := must.Get(os.ReadDir(w.Scratch))(t); len(left) != 0 {
		t.Errorf("%d folders are left in scratch", len(left))
	}
}

// A unit that needs more memory than a worker gives ends with an error that says so, and the worker goes on.
func TestWorkerMemory(t *testing.T) {
	p := remote(nil, t.TempDir(), "a", small["lqr"], t)
	u, _, err := p.unit(&Elsewhere{Revision: revision, Kernels: "k"})
	must.Do(t, err)
	w := &Worker{Farm: farm.NewLocal(), Scratch: t.TempDir(), Revision: revision, Kernels: "k", MaxSteps: 1e15, MaxMemory: 1}
	endless := u
	endless.Config = replace(u.Config, `"steps":40`, `"steps":1000000000000`)
	for _, c := range []struct {
		unit farm.Unit
		max  int
		want string
	}{{endless, 1, "this worker gives 0 MiB: see --max-memory"}, {u, 1 << 40, ""}} {
		w.MaxMemory = c.max
		r, _, err := w.Do(t.Context(), farm.NewLease(farm.Task{Unit: c.unit}, nil), new(atomic.Int64))
		if err != nil || !strings.Contains(r.Error, c.want) || (c.want == "") != (r.Error == "") {
			t.Errorf("%d bytes: error %v, result %q, want a result with %q", c.max, err, r.Error, c.want)
		}
	}
	// Who stops the worker gets the unit back.
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStop)
	if r, _, err := w.Do(ctx, farm.NewLease(farm.Task{Unit: endless}, nil), new(atomic.Int64)); !errors.Is(err, errStop) {
		t.Errorf("%+v, %v, want %v", r, err, errStop)
	}
}

func replace(b []byte, old, now string) []byte {
	s := strings.Replace(string(b), old, now, 1)
	if s == string(b) {
		panic(old + " is not in " + s)
	}
	return []byte(s)
}

// Two results that differ stop the study, and name both workers.
func TestConflictElsewhere(t *testing.T) {
	f := farm.NewLocal()
	e := &Elsewhere{Farm: f, Revision: revision, Kernels: must.Get(Kernels())(t)}
	p, other := remote(e, t.TempDir(), "a", small["lqr"], t), remote(e, t.TempDir(), "b", small["spread"], t)
	u, _, err := p.unit(e)
	must.Do(t, err)
	must.Do(t, f.Submit(t.Context(), farm.Task{Unit: u}))
	l := must.Get(f.Lease(t.Context(), "w"))(t)
	for _, worker := range []string{"good", "bad"} {
		must.Do(t, f.Done(t.Context(), l, farm.Result{Key: l.Key, Name: "a", Worker: worker, Files: []farm.File{{Name: "a", Hash: farm.HashOf([]byte(worker))}}}))
	}
	var differ *farm.Conflict
	out := Together(t.Context(), []Planned{other, p}, 1)
	if err := out[1].Err; !errors.As(err, &differ) || !strings.Contains(err.Error(), "good and bad") {
		t.Errorf("%+v", out[1])
	}
	if out[0] != (Outcome{}) {
		t.Errorf("the other run: %+v, want it for another day", out[0])
	}
}

// Data are found by hash below --data, or fetched; the coordinator's config.yaml names its own.
func TestDataElsewhere(t *testing.T) {
	home, data := t.TempDir(), t.TempDir()
	for _, to := range []string{filepath.Join(home, "trace"), filepath.Join(data, "x", "y")} {
		must.Do(t, os.CopyFS(to, os.DirFS(filepath.Join("..", "envs", "workload", "data"))))
	}
	set := "workload.path=" + filepath.Join(home, "trace")
	want := outcome(t, fast{}, start(t, parse(t, small["sizing"], set)))
	for what, change := range map[string]func(*Worker){
		"found":   func(w *Worker) { w.Data, w.FetchLimit = []string{data}, 0 },
		"fetched": func(w *Worker) { w.FetchLimit = 1 << 30 },
	} {
		runs := t.TempDir()
		p := remote(away(t, farm.NewLocal(), 1, change), runs, "a", small["sizing"], t, set)
		must.Do(t, Together(t.Context(), []Planned{p}, 1)[0].Err)
		dir := filepath.Join(runs, "a")
		same(t, what, outcome(t, fast{}, dir), want)
		if x := must.Get(ReadConfig(dir, catalog.Default()))(t); x.Workload.Path != filepath.Join(home, "trace") {
			t.Errorf("%s: config.yaml names %s", what, x.Workload.Path)
		}
	}
}

// A run without a name is called as at home, and one that is there is refused.
func TestNamesElsewhere(t *testing.T) {
	runs := t.TempDir()
	p := remote(away(t, farm.NewLocal(), 1, nil), runs, "", small["lqr"], t)
	must.Do(t, Together(t.Context(), []Planned{p}, 1)[0].Err)
	dir := filepath.Join(runs, "lqr-s8")
	same(t, "without a name", outcome(t, fast{}, dir), finished(t, p.Experiment))
	for _, name := range []string{"", "a/b"} {
		p.Options.Name = name
		if o := Together(t.Context(), []Planned{p}, 1)[0]; !errors.Is(o.Err, ErrUsage) {
			t.Errorf("name %q: %v, want a usage error", name, o.Err)
		}
	}
	if got := must.Get(os.ReadDir(runs))(t); len(got) != 1 {
		t.Errorf("%d folders are left, want 1", len(got))
	}
}

// A result that comes before its run is queued, from a worker that outlived its coordinator, is the run's.
func TestEarlyResult(t *testing.T) {
	f := farm.NewLocal()
	e := &Elsewhere{Farm: f, Revision: revision, Kernels: must.Get(Kernels())(t)}
	runs := t.TempDir()
	one, two := remote(e, runs, "a", small["lqr"], t), remote(e, runs, "b", small["spread"], t)
	one.Options.Until = 6
	u, _, err := two.unit(e)
	must.Do(t, err)
	must.Do(t, f.Submit(t.Context(), farm.Task{Unit: u})) // another coordinator's
	away(t, f, 1, nil)
	for _, p := range []Planned{one, two} {
		must.Do(t, Together(t.Context(), []Planned{p}, 1)[0].Err)
	}
	same(t, "early", outcome(t, fast{}, filepath.Join(runs, "b")), finished(t, two.Experiment))
	if s := must.Get(ReadStanding(filepath.Join(runs, "a")))(t); !s.Paused() || s.Steps != 6 {
		t.Errorf("%+v, want a run that paused at step 6", s)
	}
}

// losing is a farm that has lost the first file that is asked for.
type losing struct {
	farm.Farm
	once sync.Once
}

func (l *losing) Get(ctx context.Context, k farm.Key, f farm.File) (r io.ReadCloser, err error) {
	lost := false
	l.once.Do(func() { lost = true })
	if lost {
		return nil, farm.ErrGone
	}
	return l.Farm.Get(ctx, k, f)
}

// A result whose files went to another coordinator is asked for again.
func TestGone(t *testing.T) {
	e := away(t, farm.NewLocal(), 1, nil)
	e.Farm = &losing{Farm: e.Farm}
	runs := t.TempDir()
	a, b := remote(e, runs, "a", small["lqr"], t), remote(e, runs, "b", small["lqr"], t) // one unit
	for _, o := range Together(t.Context(), []Planned{a, b}, 1) {
		must.Do(t, o.Err)
	}
	want := finished(t, a.Experiment)
	same(t, "a", outcome(t, fast{}, filepath.Join(runs, "a")), want)
	same(t, "b", outcome(t, fast{}, filepath.Join(runs, "b")), want)
}

// A worker for which the files of an earlier part are gone leaves no result: the unit is asked for again.
func TestGoneAtWorker(t *testing.T) {
	f := &losing{Farm: farm.NewLocal()}
	e, runs := away(t, f, 1, nil), t.TempDir()
	e.Farm = f.Farm // the coordinator loses nothing
	p := remote(e, runs, "a", small["lqr"], t)
	p.Options.Until = 6
	must.Do(t, Together(t.Context(), []Planned{p}, 1)[0].Err)
	p.Options.Until, p.Resume = 0, true
	must.Do(t, Together(t.Context(), []Planned{p}, 1)[0].Err)
	lost := false
	if f.once.Do(func() { lost = true }); lost {
		t.Error("the worker asked for no file")
	}
	same(t, "a", outcome(t, fast{}, filepath.Join(runs, "a")), finished(t, p.Experiment))
}

// What else is in an interrupted run's folder stays when workers end the run: evaluations, earlier states, all checkpoints of keep 0.
func TestResumedElsewhereKeeps(t *testing.T) {
	runs := t.TempDir()
	dir := filepath.Join(runs, "a")
	p := remote(nil, runs, "a", small["lqr"], t)
	p.Options.Elsewhere, p.Options.Until = nil, 28
	must.Get(Start(t.Context(), p.Experiment, p.Options))(t)
	must.Get(Resume(t.Context(), dir, Options{From: "14", Until: 28}))(t)
	must.Do(t, os.MkdirAll(filepath.Join(dir, "eval"), 0o777))
	must.Do(t, os.WriteFile(filepath.Join(dir, "eval", "eval.json"), []byte("{}"), 0o666))
	before := must.Get(os.ReadDir(filepath.Join(dir, checkpoints.CheckpointsDir)))(t)
	q := remote(away(t, farm.NewLocal(), 1, nil), runs, "a", small["lqr"], t)
	q.Resume = true
	must.Do(t, Together(t.Context(), []Planned{q}, 1)[0].Err)
	same(t, "resumed", outcome(t, fast{}, dir), finished(t, q.Experiment))
	kept := []string{"eval/eval.json", "aside/1/config.yaml"}
	for _, e := range before {
		kept = append(kept, checkpoints.CheckpointsDir+"/"+e.Name())
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(runs, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
