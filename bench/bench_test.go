package bench

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/rng"
)

var sink []byte

// measure gives time and allocations per operation: here a known number of allocations and a known time.
func TestMeasure(t *testing.T) { synctest.Test(t, testMeasure) }

func testMeasure(t *testing.T) {
	calls := 0
	s, err := measure(20*time.Millisecond, func() error {
		calls++
		for range 3 {
			sink = make([]byte, 1000)
		}
		time.Sleep(100 * time.Microsecond)
		return nil
	})
	must.Do(t, err)
	if s.Allocations < 2.9 || s.Allocations > 4 || s.Bytes < 2900 || s.Bytes > 5000 {
		t.Errorf("%g allocations of %g bytes, want 3 of 3072", s.Allocations, s.Bytes)
	}
	if s.Nanoseconds < 1e5 || s.Nanoseconds*float64(s.Operations) < 20e6 || s.perSecond() > 1e4 {
		t.Errorf("%g ns for each of %d operations, want at least 1e5 and 20 ms in all", s.Nanoseconds, s.Operations)
	}
	if int64(calls) <= s.Operations {
		t.Errorf("called %d times for %d measured operations: no warm-up", calls, s.Operations)
	}
	bad := errors.New("bad")
	calls = 0
	_, err = measure(time.Second, func() error {
		if calls++; calls > 5 {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("a failing operation gave %v", err)
	}
}

// Each benchmark of this binary gives a result with a figure for each requested size. Stepping, acting, updating and
// simulating allocate nothing.
func TestBenchmarks(t *testing.T) {
	o := Options{Agents: []int{2}, Batch: []int{4, 8}, Instances: []int{3, 20}, EnvID: "stoker/CartPole-v1",
		Edges: []int{1000, 3000}, Episodes: 16, Time: 10 * time.Millisecond}
	must.Do(t, o.Validate())
	want := map[string]int{"product": len(kernelNames()), "forward": 1, "step": 6, "spread": 1, "attmf": 2, "graph": 2, "env": 1,
		"sim": 2, "scale": 1, "plan": 7, "decide": 24}
	for _, b := range All() {
		n, o := 0, o
		if b.Name == "scale" {
			o.Agents, o.Forms, o.Repeat = []int{5}, []string{"maddpg"}, 2
		}
		err := b.Run(o, func(r Result) {
			n++
			if r.Bench != b.Name || r.Nanoseconds <= 0 || r.Operations < 1 || o.Repeat == 2 && r.Repeats != 2 || r.Cores < 1 || !strings.Contains(r.Rate(), " ") {
				t.Errorf("%s: %+v", b.Name, r)
			}
			// The runtime's own allocations count too: over many operations they vanish. A plan is returned in memory of its own, and
			// what is worked out for a workflow is kept.
			if b.Name != "plan" && !strings.Contains(r.What, "preparing") && !strings.Contains(r.What, "compiling") && r.Operations >= 50 && math.Round(r.Allocations) > 0 {
				t.Errorf("%s: %g allocations", b.Name, r.Allocations)
			}
			line, err := json.Marshal(r)
			if err != nil || !strings.Contains(string(line), `"ns_per_op":`) {
				t.Errorf("%s: %s, %v", b.Name, line, err)
			}
		})
		var missing *engines.UnavailableError
		if b.Name == "op" && errors.As(err, &missing) {
			continue
		}
		if err != nil || n != want[b.Name] {
			t.Errorf("%s: %d results, want %d: %v", b.Name, n, want[b.Name], err)
		}
	}
}

// A rate of training is of the episodes that were played: the copies of the environment play 16 at a time.
func TestSpreadOperations(t *testing.T) {
	for episodes, want := range map[int]int64{1: 16, 16: 16, 20: 32} {
		must.Do(t, runSpread(Options{Episodes: episodes}, func(r Result) {
			if rate := 1e9 / r.Nanoseconds; r.Operations != want || r.Episodes != episodes || r.EpisodesPerSecond != rate {
				t.Errorf("%d episodes: %d operations at %g a second, want %d at %g", r.Episodes, r.Operations, r.EpisodesPerSecond, want, rate)
			}
		}))
	}
}

// At the load that loadFor returns, about the requested number of instances is alive. The peer has 7.66 at 0.9 requests
// a second.
func TestLoadFor(t *testing.T) {
	for _, n := range []int{1, 8, 35, 230, 10_000} {
		load := loadFor(n)
		if got := load + 3*math.Sqrt(load); math.Abs(got-float64(n)) > 1e-6*float64(n) {
			t.Errorf("load %g keeps %g, want %d", load, got, n)
		}
	}
	n := 35
	f := &feeder{arrivals: arrivals{key: rng.New(1, "test"), rate: loadFor(n) / warmService}}
	s := must.Get(sim.New(simConfig(), 1))(t)
	f.Fired(s, sim.Timer{})
	s.Run(f, 3*keepAlive)
	if f.err != nil {
		t.Fatal(f.err)
	}
	c := s.Counts(0)
	if kept := c.Starting + c.Idle + c.Busy; kept < n*3/4 || kept > n*5/4 {
		t.Errorf("%d instances are kept, want about %d", kept, n)
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{0.5: "0.50", 9.994: "9.99", 9.996: "10.0", 99.96: "100", 1234567: "1234567"} {
		if got := Digits(x); got != want {
			t.Errorf("%g is written %s, want %s", x, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	all, err := Find(nil)
	if err != nil || len(all) != len(All()) {
		t.Errorf("nothing named: %d, %v", len(all), err)
	}
	two, err := Find([]string{"sim", "env"})
	if err != nil || len(two) != 2 || two[0].Name != "sim" || two[1].Name != "env" {
		t.Errorf("sim and env: %v, %v", two, err)
	}
	if _, err := Find([]string{"simm"}); err == nil || !strings.Contains(err.Error(), "forward") {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Agents: []int{5, 0}}, "--agents has 0, want 1 to"},
		{Options{Batch: []int{-1}}, "--batch has -1"},
		{Options{Instances: []int{1 << 30}}, "--instances has"},
		{Options{Engine: "abacus"}, `--engine is "abacus", want native, torch, gorgonia`},
		{Options{Threads: []int{-1}}, "--threads has -1"},
		{Options{EnvID: "stoker/CartPol-v1"}, `Did you mean "stoker/CartPole-v1"?`},
	} {
		if err := c.o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if err := (Options{}).Validate(); err != nil {
		t.Error(err)
	}
}
