package sizing

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// described turns the described features on, with a dial.
func described(c *Config) { c.Features, c.Reward.Dial = Described, []float64{0.5, 8} }

// Every workflow has the same columns and actions of four components, so that one set of weights fits all.
func TestDescribedColumns(t *testing.T) {
	first := newRig(t, poisson(1), described).spec.Kinds[0]
	if w := first.Observation.Width(); w != 37 || first.Action.Width() != 4 {
		t.Errorf("%d features and %d components of an action, want 37 and 4", w, first.Action.Width())
	}
	for name, c := range map[string]struct {
		w      workload.Config
		change func(*Config)
	}{
		"tcktapp": {poisson(1), func(c *Config) { c.Workflow = TcktApp }},
		"users":   {closed(10), func(c *Config) { c.Workflow, c.Reward.Dial = Branch, []float64{2} }},
		"own":     {poisson(1), func(c *Config) { own(c); c.LoadKnown = true }},
	} {
		r := newRig(t, c.w, func(x *Config) { described(x); c.change(x) })
		k := r.spec.Kinds[0]
		if !slices.Equal(k.Features, first.Features) || !slices.Equal(k.Actions, first.Actions) {
			t.Errorf("%s: features %v, actions %v", name, k.Features, k.Actions)
		}
		r.reset(1)
		if n := len(r.obs.Kinds[0].Values); n != k.Agents*37 {
			t.Errorf("%s: %d values for %d agents", name, n, k.Agents)
		}
	}
}

// The ratios by hand: Parallel's resnet at one request a second.
func TestDescribedNumbers(t *testing.T) {
	r := newRig(t, poisson(1), func(c *Config) { described(c); c.Windows, c.MemoryLimit = 8, false })
	r.reset(4)
	f := slices.Index(r.app.flow.Functions(), "resnet")
	l := r.app.laws[f]
	z := Resources{CPU: 1500, Memory: 1024, Replicas: 4, Concurrency: 3}
	began := []float64{float64(r.result.seen)} // of the window before the episode, and of five windows
	for range 5 {
		r.all(z)
		r.step()
		began = append(began, r.info("requests"))
	}
	rate, now, slow := began[5]/30, 1+began[5], began[0]
	// One request cannot use these CPU limits, two crowd each other: the best is in between.
	instance, top := peak(&l, 1500, 3), peak(&l, 2000, 10)
	for _, x := range began[1:5] {
		slow += 0.2 * (x - slow)
	}
	for name, want := range map[string]float64{
		"work": math.Log(l.Work), "parallelism": math.Log(l.Parallel), "overhead": l.Overhead, "crowding": l.Crowding,
		"request memory": 0, "idle memory": l.Idle / 2048, "fastest": math.Log(l.Alone(2000)), "calls": 0,
		"depth": 1, "distance": 0, "in degree": math.Log(2), "out degree": 0, "critical": 1, "size": math.Log(6),
		"load": math.Log(rate), "demand": math.Log(rate * l.Work / (8 * top)),
		"utilisation": math.Log(rate * l.Work / (4 * instance)), "trend": math.Log(now / (1 + began[4])), "slow trend": math.Log(now / (1 + slow)),
		"cpu share": r.functions[f].cpu * 10 / 1500, "places taken": math.Log(r.functions[f].inside / 12),
		"p95 slowdown": math.Log(r.functions[f].p95 / l.Alone(1500)), "p95 share": math.Log(r.functions[f].p95 / 13),
		"latency": math.Log(r.info("latency") / 13), "success": r.info("success") / 0.9,
		"machines": max(6*4*1.5/64, 6*4*1024.0/(8*16384)), "dial": math.Log(r.dial),
		"last replicas": float64(r.act.Kinds[0][4*f+2]), "last concurrency": float64(r.act.Kinds[0][4*f+3]),
	} {
		near(t, name, r.seen(f, name), want, 1e-5)
	}
	if s := slices.Index(r.app.flow.Functions(), "starter"); r.seen(s, "depth") != 0 || r.seen(s, "distance") != 1 ||
		r.seen(s, "critical") != 1 {
		t.Error("starter is not the entry, on the critical path")
	}
	if m := slices.Index(r.app.flow.Functions(), "mobilenet"); r.seen(m, "critical") >= 1 {
		t.Error("mobilenet, beside resnet, is on the critical path")
	}
}

// An instance does most work where its requests just use all CPU; with fewer places each adds its cores.
func TestPeak(t *testing.T) {
	for _, l := range []perfmodel.Law{
		{Parallel: 0.3, Overhead: 0.2, Crowding: 0.1}, {Parallel: 1.5, Overhead: 0.2, Crowding: 0.1}, {Parallel: 0.5},
		{Parallel: 4, Overhead: 0.2, Crowding: 0.1},
	} {
		const c = 2.0
		best := 0.0
		for m := 1.0; m <= 40; m += 0.001 {
			best = max(best, min(m*l.Parallel, c*c/(c+l.Overhead+l.Crowding*(m-1))))
		}
		near(t, "the peak", peak(&l, 2000, 40), best, 2e-3)
		near(t, "one place", peak(&l, 2000, 1), l.Speed(2000), 1e-12)
	}
}

// With load_known the expected load of the next window takes the last one's place.
func TestDescribedKnownLoad(t *testing.T) {
	r := newRig(t, DefaultWorkload(), func(c *Config) { described(c); c.LoadKnown, c.Windows, c.Start = true, 6, 700 })
	r.reset(3)
	for k := range 6 {
		next := r.source.Expected(0, (2*700+1+k)/2) / 60
		near(t, "load", r.seen(1, "load"), math.Log(next), 1e-5)
		near(t, "trend", r.seen(1, "trend"), math.Log((1+30*next)/(1+float64(r.result.seen))), 1e-5)
		r.all(rich)
		r.step()
	}
}

// With load_next the expected load of the next window stands beside the last one's, which stays as it is without the key.
func TestNextLoad(t *testing.T) {
	for _, features := range []string{Described, ExtendedFeatures} {
		with := func(next bool) *rig {
			return newRig(t, DefaultWorkload(), func(c *Config) {
				c.Features, c.LoadNext, c.Windows, c.Start = features, next, 6, 700
			})
		}
		r, plain := with(true), with(false)
		r.reset(3)
		plain.reset(3)
		for k := range 6 {
			next := r.source.Expected(0, (2*700+1+k)/2) / 60
			if features == Described {
				near(t, "next load", r.seen(1, "next load"), math.Log(next), 1e-5)
				near(t, "next demand", r.seen(1, "next demand")-r.seen(1, "demand"), math.Log(next/r.result.load), 1e-5)
				near(t, "next utilisation", r.seen(1, "next utilisation")-r.seen(1, "utilisation"), math.Log(next/r.result.load), 1e-5)
			} else {
				near(t, "next load", r.seen(1, "next load"), next, 1e-5)
			}
			for _, name := range plain.Spec().Kinds[0].Features {
				if got, want := r.seen(1, name), plain.seen(1, name); got != want {
					t.Errorf("%s, window %d: %s is %v, want %v as without load_next", features, k, name, got, want)
				}
			}
			for _, x := range []*rig{r, plain} {
				x.all(rich)
				x.step()
			}
		}
	}
	c := Default()
	c.LoadKnown, c.LoadNext = true, true
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "load_next") {
		t.Errorf("both keys together: %v", err)
	}
}

// A workflow whose concurrency limit is not decided ignores the fourth component.
func TestPaddedAction(t *testing.T) {
	var prices []float64
	var latencies []float64
	for _, fourth := range []float32{0, 1} {
		r := newRig(t, poisson(1), func(c *Config) { described(c); c.Workflow, c.Windows = TcktApp, 2 })
		r.reset(1)
		r.all(Resources{CPU: 500, Memory: 512, Replicas: 4})
		for f := range r.wanted {
			r.act.Kinds[0][4*f+3] = fourth
		}
		r.step()
		prices, latencies = append(prices, r.info("price")), append(latencies, r.info("latency"))
		if z := r.inForce[3]; z != (Resources{CPU: 500, Memory: 512, Replicas: 4, Concurrency: 1}) {
			t.Errorf("deployed is %+v", z)
		}
	}
	if prices[0] != prices[1] || latencies[0] != latencies[1] {
		t.Errorf("the fourth component changes prices %v or latencies %v", prices, latencies)
	}
}

// The dial is drawn by the seed within its range, is part of the state, and replaces reward.qos.
func TestDial(t *testing.T) {
	r := newRig(t, closed(10), func(c *Config) { described(c); c.Windows = 2 })
	var logs []float64
	for seed := range uint64(400) {
		d := r.cfg.Reward.draw(seed)
		if d < 0.5 || d > 8 {
			t.Fatalf("seed %d draws %g", seed, d)
		}
		logs = append(logs, math.Log2(d))
	}
	// Uniform in [-1, 3]: mean 1, of 400 draws with deviation 0.058.
	near(t, "mean of the logarithm", mean(logs), 1, 0.2)
	r.reset(5)
	drawn := r.dial
	r.all(rich)
	r.step()
	near(t, "reward", float64(r.out.Rewards[0][0]), (drawn-0.1*r.info("price"))/math.Sqrt(drawn), 1e-5)
	b := must.Get(r.AppendBinary(nil))(t)
	if err := r.Reset(6, envs.Options{"dial": 3}, r.obs); err != nil || r.dial != 3 {
		t.Errorf("option dial: %g (%v)", r.dial, err)
	}
	near(t, "the dial seen", r.seen(0, "dial"), math.Log(3), 1e-6)
	if err := r.UnmarshalBinary(b); err != nil || r.dial != drawn {
		t.Errorf("the saved dial is %g, want %g (%v)", r.dial, drawn, err)
	}
	if err := r.Reset(6, envs.Options{"dial": 0}, r.obs); err == nil {
		t.Error("a dial of 0 is accepted")
	}
	off := newRig(t, closed(10), nil)
	if err := off.Reset(6, envs.Options{"dial": 3}, off.obs); err == nil {
		t.Error("option dial is accepted where the reward has none")
	}
}

// A fixed dial is a kept window's reward, and each request per second that succeeds earns more.
func TestServed(t *testing.T) {
	run := func(served float64) *rig {
		r := newRig(t, closed(10), func(c *Config) { c.Windows, c.Reward.Dial, c.Reward.Served = 2, []float64{3}, served })
		r.reset(5)
		r.all(rich)
		r.step()
		return r
	}
	off, on := run(0), run(0.5)
	near(t, "without", float64(off.out.Rewards[0][0]), 3-0.1*off.info("price"), 1e-6)
	if on.info("successes") < 20 {
		t.Fatalf("%g successes", on.info("successes"))
	}
	near(t, "with", float64(on.out.Rewards[0][0]), 3-0.1*on.info("price")+0.5*on.info("successes")/30, 1e-6)
}

// A near miss earns a share of a kept window's reward; price and violations stay.
func TestNearMiss(t *testing.T) {
	poor := Resources{CPU: 600, Memory: 600, Replicas: 2, Concurrency: 2}
	for form, sign := range map[string]float64{PaperReward: 0, CodeReward: -1} {
		run := func(credit float64) *rig {
			r := newRig(t, closed(10), func(c *Config) {
				c.Windows, c.Reward.Form, c.Reward.NearMiss.Credit = 2, form, credit
				c.QoS.Success = 0.95
			})
			r.reset(1)
			r.all(poor)
			r.step()
			return r
		}
		off, on := run(0), run(0.5)
		if off.info("price") != on.info("price") || off.info("violated") != 1 || on.info("violated") != 1 {
			t.Fatalf("%s: %v and %v", form, off.out.Info, on.out.Info)
		}
		near(t, form+", off", float64(off.out.Rewards[0][0]), sign*0.5-0.1*off.info("price"), 1e-6)
		distance := min(1, on.info("success")/0.95) * min(1, 13/on.info("latency")) * min(1, on.info("successes")/20)
		if distance >= 1 || distance <= 0 {
			t.Fatalf("the window is at a distance of %g", distance)
		}
		near(t, form+", on", float64(on.out.Rewards[0][0]), (sign+0.5*math.Pow(distance, 4))*0.5-0.1*on.info("price"), 1e-6)
		on.all(rich)
		on.step()
		if on.info("violated") != 0 {
			t.Fatal("rich misses the QoS")
		}
		near(t, form+", kept", float64(on.out.Rewards[0][0]), (sign+1)*0.5-0.1*on.info("price"), 1e-6)
	}
}
