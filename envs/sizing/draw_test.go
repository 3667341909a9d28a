package sizing

import (
	"bytes"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// drawn is a workload whose episodes draw a factor and one of three loads.
func drawn() workload.Config {
	w := workload.Default()
	w.Mean, w.Length = 1, 400
	w.Draw = workload.Draw{Factor: []float64{0.5, 2}, Traces: []workload.Drawable{{Kind: workload.Azure2019},
		{Kind: workload.Poisson}, {Kind: workload.Bursty}}}
	return w
}

// Two policies under one seed see the same requests begin, window by window; the load known is that of the load drawn,
// and episodes differ in their load as much as the range says.
func TestDrawnLoads(t *testing.T) {
	change := func(c *Config) { c.Windows, c.LoadKnown = 20, true }
	small, large := newRig(t, drawn(), change), newRig(t, drawn(), change)
	small.all(Resources{CPU: 250, Memory: 512, Replicas: 1, Concurrency: 2})
	large.all(Resources{CPU: 1000, Memory: 1024, Replicas: 4, Concurrency: 8})
	least, most := math.Inf(1), 0.0
	for seed := range uint64(30) {
		small.reset(seed)
		large.reset(seed)
		var sum float64
		for range small.cfg.Windows {
			known := small.seen(0, "load")
			if w := small.walk.Arrivals().Expected(0, (small.slot+small.progress.all)/2) / 60; math.Abs(known-w) > 1e-6 {
				t.Fatalf("the load known is %v, want %v", known, w)
			}
			small.step()
			large.step()
			if a, b := small.info("requests"), large.info("requests"); a != b {
				t.Fatalf("seed %d: %v requests begin under one policy, %v under the other", seed, a, b)
			}
			sum += small.info("load") / float64(small.cfg.Windows)
		}
		least, most = min(least, sum), max(most, sum)
	}
	if least > 0.7 || most < 1.5 {
		t.Errorf("mean loads are %v to %v over 30 seeds, want about 0.5 to 2", least, most)
	}
}

// The load drawn is part of copies and of saved states, and Reset draws it without allocating.
func TestDrawnState(t *testing.T) {
	change := func(c *Config) { c.Windows = 6 }
	a, b, c := newRig(t, drawn(), change), newRig(t, drawn(), change), newRig(t, drawn(), change)
	for seed := range uint64(6) {
		a.reset(seed)
		a.step()
		text := must.Get(a.AppendBinary(nil))(t)
		must.Do(t, b.UnmarshalBinary(text))
		must.Do(t, c.CopyFrom(a.Env))
		for range 5 {
			for _, r := range []*rig{a, b, c} {
				r.step()
			}
			for _, r := range []*rig{b, c} {
				if x, y := a.info("requests"), r.info("requests"); x != y || a.info("latency") != r.info("latency") {
					t.Fatalf("seed %d: %v requests, and %v in the copy or after loading", seed, x, y)
				}
			}
		}
		after, _ := a.AppendBinary(nil)
		again, _ := b.AppendBinary(nil)
		if !bytes.Equal(after, again) {
			t.Fatalf("seed %d: the states differ at the end", seed)
		}
	}
}

// What episodes draw is in the report: the range of mean loads, and each load's factor.
func TestDrawnReport(t *testing.T) {
	e := must.Get(New(Default(), drawn()))(t)
	l := e.Workload()
	near(t, "the smallest mean", l.Least, 0.5, 1e-9)
	near(t, "the largest mean", l.Most, 2, 1e-9)
	near(t, "the mean", l.Mean, 1.5/math.Log(4), 0.15)
	if l.Key != "workload.mean" || l.Value != 1 || len(l.Drawn) != 3 || l.Drawn[0].Name != "azure2019 (embedded)" {
		t.Errorf("the load is %+v", l)
	}
	near(t, "the trace's factor", l.Drawn[0].Factor, 1/2.0757, 1e-3)
	trained := []envs.TrainedLoad{{Policy: "a", Load: envs.NewLoad("requests/s", "minute", []float64{2}, "", 0)}}
	trained[0].Least, trained[0].Most = 1.9, 2
	report, err := envs.ReportLoad(e, trained)
	if err != nil || len(report.Warnings) != 1 {
		t.Errorf("a policy of 1.9 to 2 requests/s in 0.5 to 2: %+v, %v", report, err)
	}
}
