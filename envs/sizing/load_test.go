package sizing

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// played is the mean of what an episode of one configuration reports.
func played(t *testing.T, e *Env, rs []Resources, seed uint64) (load, violated float64) {
	t.Helper()
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	n := e.app.rng.Components()
	for f, r := range rs {
		e.app.rng.Encode(r, act.Kinds[0][f*n:(f+1)*n])
	}
	must.Do(t, e.Reset(seed, nil, obs))
	for range e.cfg.Windows {
		must.Do(t, e.Step(act, obs, out))
		load += e.result.load / float64(e.cfg.Windows)
		if e.result.violated {
			violated += 1 / float64(e.cfg.Windows)
		}
	}
	return load, violated
}

// The configuration that the search for a capacity finds keeps the QoS at that rate under seeds that it has not seen,
// and misses it at half as much again.
func TestCapacity(t *testing.T) {
	c := Default()
	described(&c) // whatever the features and the reward
	s := must.Get(newSearch(c, nil))(t)
	s.trials = capacityTrials / 2 // as if so many had been spent
	found := must.Get(s.capacity())(t)
	t.Logf("%+v", found)
	if found.Rate < 3.5 || found.Rate > 6 {
		t.Errorf("the ranges serve %v requests a second, want about 4: 64 cores at 6.1 core-seconds a request, half used", found.Rate)
	}
	for _, k := range []struct{ times, low, high float64 }{{1, 0, 0.13}, {1.5, 0.5, 1.01}} {
		w := workload.Default()
		w.Kind, w.Rate, w.Length = workload.Poisson, k.times*found.Rate, 120
		d := c
		d.Windows, d.Warmup, d.Start = 100, 2, 0
		e := must.Get(New(d, w))(t)
		if _, violated := played(t, e, found.Resources, 77); violated < k.low || violated > k.high {
			t.Errorf("at %v times the capacity %.2f of the windows are violated, want %v to %v", k.times, violated, k.low, k.high)
		}
	}
}

// Factor auto brings the mean of the requests that begin to the target share of what is served.
func TestFactorAuto(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := Default()
	c.Windows, c.Warmup, c.Start = 2878, 2, 0
	w := DefaultWorkload()
	w.Factor, w.TargetUtilisation = workload.Auto, 0.4
	e := must.Get(New(c, w))(t)
	serves := must.Get(e.Serves())(t)
	l := e.Workload()
	if math.Abs(l.Mean/serves-0.4) > 1e-9 || l.Key != "workload.factor" || !(l.Value > 0) {
		t.Errorf("the load is %+v of %v served, want 0.4 of it", l, serves)
	}
	rs := make([]Resources, len(e.functions))
	for f := range rs {
		rs[f] = e.initial()
	}
	if load, _ := played(t, e, rs, 3); math.Abs(load/serves-0.4) > 0.01 {
		t.Errorf("%v requests begin in a second, %v of what is served; want 0.4", load, load/serves)
	}
	if entries, err := os.ReadDir(os.Getenv("XDG_CACHE_HOME")); err != nil || len(entries) > 1 {
		t.Errorf("the cache folder holds %v, %v", entries, err)
	}
}

// With users the load is their number. What is served is known where thresholds rise with them.
func TestUsersLoad(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := Default()
	c.Users = []int{10, 30}
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	e, err := New(c, w)
	must.Do(t, err)
	if l := e.Workload(); l.Mean != 20 || l.Least != 10 || l.Most != 30 || l.Unit != "users" || l.Value != 20 {
		t.Errorf("the load is %+v", l)
	}
	if serves, err := e.Serves(); serves != 0 || err != nil {
		t.Errorf("%v users are served, %v", serves, err)
	}
	c.QoS.Table, c.Platform.Nodes = RisingQoS, 4
	if e, err = New(c, w); err != nil {
		t.Fatal(err)
	}
	if serves, err := e.Serves(); serves < 12 || serves > 20 || err != nil {
		t.Errorf("%v users are served, %v, want about 15: half of the machines", serves, err)
	}
	w.Mean = 2
	if _, err := New(c, w); err == nil || !strings.Contains(err.Error(), "workload.mean is 2, want 0 with closed-loop users") {
		t.Errorf("a mean with users: %v", err)
	}
}

// Thresholds that nothing within the ranges keeps are named, with what comes nearest; others are not.
func TestUnmet(t *testing.T) {
	for want, c := range map[string]struct {
		w      workload.Config
		change func(*Config)
	}{
		"nothing within the action ranges keeps the QoS even at 0.01 requests/s: env.qos.latency is 2 s, but the nearest " +
			"configuration found has": {poisson(1), func(c *Config) { c.QoS.Latency = 2 }},
		"with 10 users: env.qos.count is 50, but the nearest configuration found has": {closed(10),
			func(c *Config) { c.QoS.Count = 50 }},
		"with 5000 users: at env.qos.latency of 18 s they send at least 278 requests/s, but all CPU at work does at most": {
			closed(5000), func(c *Config) { c.QoS.Count = 1 }},
		"": {closed(10), nil},
	} {
		r := newRig(t, c.w, c.change)
		report := must.Get(envs.ReportLoad(r.Env, nil))(t)
		if got := report.Unmet; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("unmet is %q, want %q", got, want)
		}
		if want != "" && (len(report.Warnings) != 1 || report.Warnings[0] != report.Unmet) {
			t.Errorf("the report warns %q, want %q", report.Warnings, report.Unmet)
		}
	}
}
