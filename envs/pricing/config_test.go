package pricing

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// Bad input is an error that names the field and says what would be right.
func TestErrors(t *testing.T) {
	for want, change := range map[string]func(*Config, *workload.Config){
		"baselines is [30 30 30], 90 keep-alive vGPUs in all, want at most vgpus, 64": func(c *Config, _ *workload.Config) {
			c.Baselines = []int{30, 30, 30}
		},
		"baselines[1] is 65, want 0 to 64": func(c *Config, _ *workload.Config) {
			c.Baselines = []int{0, 65, 0}
		},
		"baselines[1] is -1": func(c *Config, _ *workload.Config) {
			c.Baselines[1] = -1
		},
		"baselines is [1]": func(c *Config, _ *workload.Config) {
			c.Baselines = []int{1}
		},
		"prices[2] is -0.5": func(c *Config, _ *workload.Config) {
			c.Prices[2] = -0.5
		},
		"prices is [1 1]": func(c *Config, _ *workload.Config) {
			c.Prices = []float64{1, 1}
		},
		"tiers[1].functions": func(c *Config, _ *workload.Config) {
			c.Tiers[1].Functions = 0
		},
		"tiers[0].sla": func(c *Config, _ *workload.Config) {
			c.Tiers[0].SLA = 0
		},
		"tiers[0].lengths": func(c *Config, _ *workload.Config) {
			c.Tiers[0].Lengths = []float64{0.5, 0.6}
		},
		"tiers is a list": func(c *Config, _ *workload.Config) {
			c.Tiers = nil
		},
		"vgpus is 65537": func(c *Config, _ *workload.Config) {
			c.VGPUs = 65537
		},
		"pool is \"rented\"": func(c *Config, _ *workload.Config) {
			c.Pool = "rented"
		},
		"arms.donors is \"all\"": func(c *Config, _ *workload.Config) {
			c.ARMS.Donors = "all"
		},
		"arms.gamma is -1": func(c *Config, _ *workload.Config) {
			c.ARMS.Gamma = -1
		},
		"demand.start is 24": func(c *Config, _ *workload.Config) {
			c.Demand.Start = 24
		},
		"demand.start is 30": func(c *Config, _ *workload.Config) {
			c.Demand.Source, c.Demand.Start = Generated, 30
		},
		"slot_seconds is 61": func(c *Config, _ *workload.Config) {
			c.SlotSeconds, c.Slots = 61, 10
		},
		"windows is 1048576": func(c *Config, _ *workload.Config) {
			c.Windows, c.Slots = 1<<20, 2000
		},
		"workload.kind": func(_ *Config, w *workload.Config) {
			w.Kind = workload.ClosedLoop
		},
		"workload.minutes": func(c *Config, w *workload.Config) {
			c.Slots = 1441
		},
		"workload.path": func(c *Config, w *workload.Config) {
			c.Slots, w.Path = 1, gappy(t)
		},
	} {
		c, w := Default(), workload.Default()
		change(&c, &w)
		if _, err := New(c, w, nil); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "want") {
			t.Errorf("New gives %v, want an error with %q", err, want)
		}
	}
}

// So is an action: a negative price, one above the highest, a baseline that is no whole number or more than there are
// vGPUs. Baselines that only together are more are projected, as the paper does.
func TestActionErrors(t *testing.T) {
	e := must.Get(New(Default(), workload.Default(), nil))(t)
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	must.Do(t, e.Reset(1, nil, obs))
	for want, row := range map[string][]float32{
		"price 2: ":    {1, -0.5, 1, 5, 8, 10},
		"price 3: ":    {1, 1, 5.5, 5, 8, 10},
		"price 1: ":    {float32(math.NaN()), 1, 1, 5, 8, 10},
		"baseline 1: ": {1, 1, 1, 5.5, 8, 10},
		"baseline 2: ": {1, 1, 1, 5, 65, 10},
		"baseline 3: ": {1, 1, 1, 5, 8, -1},
	} {
		copy(act.Kinds[0], row)
		if err := e.Step(act, obs, out); err == nil || !strings.Contains(err.Error(), ID+": "+want) ||
			!strings.Contains(err.Error(), "want") {
			t.Errorf("%v gives %v, want an error with %q", row, err, want)
		}
	}
	copy(act.Kinds[0], []float32{1, 1, 1, 30, 30, 30})
	if err := e.Step(act, obs, out); err != nil || e.baseline[0]+e.baseline[1]+e.baseline[2] != 64 {
		t.Errorf("%v; baselines %v, want 64 in all", err, e.baseline)
	}
}

// gappy writes a trace that has no invocations in its third minute.
func gappy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "HashOwner,HashApp,HashFunction,Trigger,1,2,3,4\no,a,f,http,3,1,0,2\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "invocations_per_function_md.anon.d01.csv"), []byte(text),
		0o644))
	return dir
}

// A day of Azure's trace is 24 windows; its mean is the configured load, and it comes round.
func TestDayIsTwentyFourWindows(t *testing.T) {
	w := must.Get(newWorld(Default(), workload.Default(), ID))(t)
	must.Do(t, w.begin(1, envs.Options{"start": 23}))
	var sum float64
	for i := range 24 {
		sum += w.potential(i)
	}
	if w.load.windows != 24 || sum/24 < 45-1e-9 || sum/24 > 45+1e-9 {
		t.Errorf("%d windows with a mean of %g, want 24 with 45", w.load.windows, sum/24)
	}
	if w.potential(0) != w.load.fixed[23] || w.potential(1) != w.load.fixed[0] {
		t.Error("the trace does not come round")
	}
	if err := w.begin(1, envs.Options{"start": 24}); err == nil {
		t.Error("start beyond the trace was accepted")
	}
}

// the two environments are one simulation: with the same scheduler and the same prices they come to the same accounts,
// window by window.
func TestFacesAgree(t *testing.T) {
	c := Default()
	c.Windows = 4
	p := must.Get(New(c, workload.Default(), nil))(t)
	s := must.Get(NewSlots(c, workload.Default(), nil))(t)
	arms := must.Get(NewARMS(c.ARMS, &c))(t)
	po, pa, pr := envs.NewObservation(p.spec), envs.NewAction(p.spec), envs.NewOutcome(p.spec)
	so, sa, sr := envs.NewObservation(s.spec), envs.NewAction(s.spec), envs.NewOutcome(s.spec)
	must.Do(t, p.Reset(5, nil, po))
	must.Do(t, s.Reset(5, nil, so))
	static := NewStatic(&c)
	for window := range c.Windows {
		must.Do(t, static.Act(po, pa, true))
		must.Do(t, p.Step(pa, po, pr))
		var sum float64
		for range c.Slots {
			must.Do(t, arms.Act(so, sa, true))
			must.Do(t, s.Step(sa, so, sr))
			sum += sr.Info[0]
		}
		// What slots sum in another order differs by rounding alone; the counts of arrivals and violations are equal.
		if d := sum - pr.Info[0]; d > 1e-8 || d < -1e-8 {
			t.Errorf("window %d: the slots' profits come to %g, the window's is %g", window, sum, pr.Info[0])
		}
		if p.total[accViolated]+p.slotAcc[accViolated] == 0 || p.total[accArrived] == 0 {
			t.Error("nothing happened")
		}
	}
	if p.total[accArrived] != s.total[accArrived] || p.total[accServed] != s.total[accServed] ||
		p.total[accRedeployed] != s.total[accRedeployed] {
		t.Errorf("the environments count %v and %v", p.total, s.total)
	}
}
