package pricing

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// A mean in requests a second, and factor auto, become the mean load in jobs per slot; what is served takes all vGPUs.
func TestMeanAndAuto(t *testing.T) {
	for _, outside := range []bool{false, true} {
		c := Default()
		if outside {
			c.Profile, c.PriceMax = OutsideProfile, 2.5
		}
		w := workload.Default()
		w.Mean = 0.5
		e := must.Get(New(c, w, nil))(t)
		if l := e.Workload(); math.Abs(l.Mean-30) > 1e-9 || l.Value != 30 || l.Unit != "jobs/slot" {
			t.Errorf("0.5 requests/s are %+v, want 30 jobs in a slot of 60 s", l)
		}
		serves := must.Get(e.Serves())(t)
		// A job takes 1 to 1.19 slots; at the highest prices only a part of the users comes with the outside option.
		if outside && serves < 2*64 || !outside && !(serves > 64/1.19 && serves < 64) {
			t.Errorf("64 vGPUs serve %v jobs per slot (users may stay away: %v)", serves, outside)
		}
		w.Mean, w.Factor, w.TargetUtilisation = 0, workload.Auto, 0.6
		a := must.Get(New(c, w, nil))(t)
		if l := a.Workload(); math.Abs(l.Mean/serves-0.6) > 1e-9 {
			t.Errorf("auto brings the load to %v of %v, want 0.6 of it", l.Mean, serves)
		}
		if again, err := a.NewEnv(nil); err != nil || again.CopyFrom(a) != nil {
			t.Errorf("another of the kind: %v", err)
		}
	}
}

// Over a long episode the vGPUs are as busy as the load is heavy, where the prices are those of equal shares.
func TestUtilisationIsMet(t *testing.T) {
	c := Default()
	c.Windows, c.Demand.Start, c.Pool, c.Load = 24, 0, Fixed, 0
	w := workload.Default()
	w.Factor, w.TargetUtilisation = workload.Auto, 0.5
	e := must.Get(NewSlots(c, w, nil))(t)
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	must.Do(t, e.Reset(1, nil, obs))
	at := must.Get(e.spec.InfoIndex("arrived"))(t)
	jobs, slots := 0.0, 0
	for out.Truncated = false; !out.Truncated; slots++ {
		must.Do(t, e.Step(act, obs, out))
		jobs += out.Info[at]
	}
	serves, _ := e.Serves()
	if got := jobs / float64(slots) / serves; math.Abs(got-0.5) > 0.02 {
		t.Errorf("%v of what is served arrives, want 0.5", got)
	}
}

func TestScaleRefusals(t *testing.T) {
	for want, change := range map[string]func(*Config, *workload.Config){
		"demand.mean is 40, want 0 beside workload.mean": func(c *Config, w *workload.Config) { c.Demand.Mean, w.Mean = 40, 1 },
		"workload.mean is 1, want 0 where demand.source": func(c *Config, w *workload.Config) {
			c.Demand.Source, w.Mean = Generated, 1
		},
		"workload.factor is auto, want a number where":   func(c *Config, w *workload.Config) { c.Demand.Source, w.Factor = Generated, workload.Auto },
		"workload.mean is 1, want either a mean or a fa": func(_ *Config, w *workload.Config) { w.Mean, w.Factor = 1, 2 },
	} {
		c, w := Default(), workload.Default()
		change(&c, &w)
		if _, err := New(c, w, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// An evaluation counts recorded traces, not the episodes that draw them.
func TestTraces(t *testing.T) {
	c, w := Default(), workload.Default()
	for _, names := range [][]string{{"0", "1"}, {"2", "3"}, {"4", "5"}} {
		w.Draw.Traces = append(w.Draw.Traces, workload.Drawable{Kind: workload.Azure2019, Functions: workload.Filter{Names: names}})
	}
	e := must.Get(New(c, w, nil))(t)
	seen := map[int]bool{}
	for seed := range uint64(20) {
		seen[e.TraceOf(seed)] = true
	}
	if len(e.Traces()) != 3 || len(seen) != 3 {
		t.Errorf("the traces are %q, of which 20 episodes draw %d, want 3", e.Traces(), len(seen))
	}
	generated(&c)
	if got := must.Get(New(c, workload.Default(), nil))(t).Traces(); len(got) != 0 {
		t.Errorf("a generated load has the traces %q", got)
	}
}
