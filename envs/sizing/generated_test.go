package sizing

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/internal/must"
)

// The search for what generated workflows serve ends, with hundreds of functions, too.
func TestGeneratedCapacity(t *testing.T) {
	sizes := []int{5}
	if *long {
		sizes = []int{5, 60, 200}
	}
	for _, n := range sizes {
		c := DefaultCounted()
		c.Workflow, c.Generated.Functions = Generated, n
		s := must.Get(newSearch(c, nil))(t)
		if !*long {
			s.trials = capacityTrials / 2 // as if so many had been spent
		}
		found := must.Get(s.capacity())(t)
		t.Logf("%d functions serve %.3g requests/s, found in %d trials", n, found.Rate, found.Trials)
		if found.Rate < 1 || found.Rate > 60 {
			t.Errorf("%d functions serve %v requests a second", n, found.Rate)
		}
	}
}

// The laws of generated workflows are valid and within the range of the built-in ones, and differ.
func TestDrawnLaws(t *testing.T) {
	var low, high perfmodel.Law
	holding := 0
	for f := range 1000 {
		l := perfmodel.Draw(3, f)
		must.Do(t, l.Validate())
		if f == 0 {
			low, high = l, l
		}
		low.Work, high.Work = min(low.Work, l.Work), max(high.Work, l.Work)
		low.Parallel, high.Parallel = min(low.Parallel, l.Parallel), max(high.Parallel, l.Parallel)
		if l.Memory > 0 {
			holding++
		}
	}
	if low.Work < 0.05 || low.Work > 0.06 || high.Work > 2 || high.Work < 1.8 || low.Parallel < 0.94 || high.Parallel > 1.72 {
		t.Errorf("laws from %+v to %+v", low, high)
	}
	if holding < 100 || holding > 190 {
		t.Errorf("%d of 1000 functions hold memory for requests, want about a seventh", holding)
	}
}

// The laws of services are TcktApp's, but for the work, which covers that of all twelve.
func TestDrawnServices(t *testing.T) {
	entry := must.Get(perfmodel.FaaSConf("get-left-trip-tickets"))(t)
	light := must.Get(perfmodel.FaaSConf("get-sold-tickets"))(t)
	low, high := math.Inf(1), 0.0
	for f := range 1000 {
		l := perfmodel.DrawService(3, f)
		low, high = min(low, l.Work), max(high, l.Work)
		l.Work, l.Source = entry.Work, entry.Source
		if l != entry {
			t.Fatalf("service %d has %+v, want %+v", f, l, entry)
		}
	}
	if low > 1.02*light.Work || low < 0.97*light.Work || high < 0.98*entry.Work || high > entry.Work {
		t.Errorf("work from %v to %v, want about %v to %v", low, high, light.Work, entry.Work)
	}
}

// A workflow of services keeps its windows under a generous configuration, in which requests wait and none fails, and misses
// them under the leanest.
func TestGeneratedServices(t *testing.T) {
	r := newRig(t, poisson(2), func(c *Config) {
		*c = DefaultCounted()
		c.Workflow, c.Generated.Functions, c.Windows, c.Start, c.Services = Generated, 12, 8, 0, []bool{true}
	})
	kept := func(z Resources) (windows int) {
		r.reset(1)
		r.all(z)
		for range r.cfg.Windows {
			if r.step(); r.info("violated") == 0 && r.info("requests") > 0 {
				windows++
			}
			if got := r.info("success"); z.Replicas > 1 && got != 1 {
				t.Errorf("a share of %v of the requests is answered", got)
			}
		}
		return windows
	}
	if rich, lean := kept(Resources{1000, 1024, 6, 1}), kept(Resources{250, 128, 1, 1}); rich < 7 || lean > 1 {
		t.Errorf("threshold %g s: the rich configuration keeps %d of 8 windows, the lean one %d", r.QoS().Latency, rich, lean)
	}
}

// Generated workflows of every size are served by generous configurations, and their thresholds are missed by the
// leanest. The machines grow with the functions.
func TestGeneratedSizes(t *testing.T) {
	for _, n := range []int{5, 12, 50, 200, 1000} {
		r := newRig(t, poisson(0.4), func(c *Config) {
			*c = DefaultCounted()
			c.Workflow, c.Generated.Functions, c.Windows, c.Start = Generated, n, 8, 0
		})
		if got := r.spec.Kinds[0].Agents; got != n {
			t.Errorf("%d functions have %d agents", n, got)
		}
		if m := r.app.machines(&r.cfg.Platform); m != (8*n+5)/6 {
			t.Errorf("%d functions have %d machines", n, m)
		}
		kept := func(z Resources) (windows int) {
			r.reset(1)
			r.all(z)
			for range r.cfg.Windows {
				if r.step(); r.info("violated") == 0 && r.info("requests") > 0 {
					windows++
				}
			}
			return windows
		}
		rich, lean := kept(Resources{2000, 2048, 4, 10}), kept(Resources{250, 256, 1, 1})
		t.Logf("%d functions: threshold %g s; the rich configuration keeps %d windows, the lean %d", n, r.QoS().Latency, rich, lean)
		if rich < 6 || lean > 1 {
			t.Errorf("%d functions: the rich configuration keeps %d of 8 windows, the lean one %d", n, rich, lean)
		}
	}
}
