package sizing

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// rich is a configuration in which requests hardly meet.
var rich = Resources{CPU: 1600, Memory: 2048, Replicas: 5, Concurrency: 10}

// One user alone waits for nobody: the latency is the functions' own times along the longest path, the hops and the
// orchestrator.
func TestOneUserAlone(t *testing.T) {
	r := newRig(t, closed(1), func(c *Config) { quiet(c); c.Windows = 3 })
	r.reset(1)
	r.all(rich)
	r.step()
	times := make([]float64, len(r.app.laws))
	for f := range times {
		times[f] = r.app.laws[f].Alone(float64(rich.CPU))
		near(t, "p75 of "+r.app.flow.Functions()[f], r.seen(f, "p75"), times[f], 1e-5)
	}
	want := r.cfg.Platform.Orchestrator + 5*r.cfg.Platform.Hop + times[0] + times[1] + times[2] + times[3] + max(times[4],
		times[5])
	near(t, "latency", r.info("latency"), want, 1e-4)
	if n, k := r.info("successes"), float64(int(30/want)); n != k {
		t.Errorf("%g successes in 30 s of %g s each, want %g", n, want, k)
	}
	if r.info("failed") != 0 || r.info("success") != 1 {
		t.Errorf("%g failed, success %g, want none and 1", r.info("failed"), r.info("success"))
	}
	// 40 cores at 0.173, 61,440 MB at 0.012 per 1000.
	near(t, "price", r.info("price"), 6*5*(1.6*0.173+2.048*0.012), 1e-12)
	near(t, "cost", r.info("cost"), r.info("price")/120, 1e-12)
	near(t, "cores", r.info("cores"), 48, 0)
}

// An instance at its limit refuses; the request goes on, spoilt, and fails in the end. Starter's failure spoils
// nothing as published, since nobody uses what it returns, unless refusals count.
func TestRefusalSpoilsTheRequest(t *testing.T) {
	tight := rich
	tight.Replicas, tight.Concurrency, tight.CPU = 1, 1, 600
	for f, name := range []string{"starter", "rgb", "resize", "update", "resnet", "mobilenet"} {
		for _, refusals := range []string{PublishedRefusals, CountedRefusals} {
			r := newRig(t, closed(10), func(c *Config) { quiet(c); c.Windows, c.Refusals = 2, refusals })
			r.reset(1)
			r.all(rich)
			r.give(f, tight)
			r.step()
			if r.seen(f, "rejected") == 0 {
				t.Errorf("%s with room for one request refused none of ten users'", name)
			}
			spoils := name != "starter" || refusals == CountedRefusals
			if failed := r.info("failed"); (failed > 0) != spoils {
				t.Errorf("%g requests failed by %s's %s refusals", failed, name, refusals)
			}
			if got, want := r.info("success"), r.info("successes")/(r.info("successes")+r.info("failed")); got != want {
				t.Errorf("success is %g, want %g", got, want)
			}
		}
	}
}

// Aborting ends a request where it fails, so that what follows is spared.
func TestAbort(t *testing.T) {
	tight := rich
	tight.Replicas, tight.Concurrency, tight.CPU = 1, 1, 600
	var served [2]float64
	for i, on := range []string{ContinueOnFailure, AbortOnFailure} {
		r := newRig(t, poisson(3), func(c *Config) { quiet(c); c.Windows, c.Platform.OnFailure = 4, on })
		r.reset(1)
		r.all(rich)
		r.give(1, tight)
		for range 3 {
			r.step()
		}
		served[i] = r.seen(4, "network")
		if r.info("failed") == 0 {
			t.Errorf("%s: no failures", on)
		}
	}
	if !(served[1] < 0.7*served[0]) {
		t.Errorf("resnet received %g B/s where failed requests end, %g where they go on", served[1], served[0])
	}
}

// Memory bounds the requests in resnet's instances, and nothing else.
func TestMemoryLimit(t *testing.T) {
	small := rich
	small.Memory = 600 // two requests of 250 MB
	failed := func(limit bool) float64 {
		r := newRig(t, closed(10), func(c *Config) { quiet(c); c.Windows, c.MemoryLimit = 2, limit })
		r.reset(1)
		r.all(small)
		r.step()
		for f := range 6 {
			if rejected := r.seen(f, "rejected"); (rejected > 0) != (limit && f == 4) {
				t.Errorf("limit %v: function %d refuses a share of %g", limit, f, rejected)
			}
		}
		return r.info("failed")
	}
	if with, without := failed(true), failed(false); with == 0 || without != 0 {
		t.Errorf("%g failures with the limit, %g without, want some and none", with, without)
	}
}

// A caller keeps its place until its calls have returned: with one instance of each function TcktApp serves one request
// at a time.
func TestCallersHoldTheirPlace(t *testing.T) {
	one := Resources{CPU: 1000, Memory: 1024, Replicas: 1, Concurrency: 1}
	latency := func(users int) (mean, count float64) {
		r := newRig(t, closed(users), func(c *Config) { quiet(c); c.Workflow, c.Windows = TcktApp, 2 })
		r.reset(1)
		r.all(one)
		r.step()
		return r.info("latency"), r.info("successes")
	}
	alone, n := latency(1)
	// The entry is free again as soon as its answer is out, while the user is still with the orchestrator.
	shared, m := latency(8)
	entry := alone - Default().Platform.Orchestrator - Default().Platform.Hop
	near(t, "latency of eight users at one place", shared, 8*entry, 0.15*8*entry)
	if m < n {
		t.Errorf("%g answers for eight users, %g for one", m, n)
	}
}

// The continuous protocol serves each of the trace's arrivals in the episode's windows, and carries requests over.
func TestArrivalsAreTheTraces(t *testing.T) {
	w := DefaultWorkload()
	r := newRig(t, w, func(c *Config) { c.Windows, c.Warmup, c.Start = 20, 0, 600 })
	r.reset(7)
	source := must.Get(workload.Open(w))(t)
	arrivals := must.Get(source.Arrivals(7))(t)
	arrivals.SeekTo(600 * workload.Minute)
	want := make([]float64, 20)
	for {
		a, ok := arrivals.Next()
		k := int((a.Time - 600*workload.Minute) / int64(Window))
		if !ok || k >= len(want) {
			break
		}
		want[k]++
	}
	r.all(rich)
	ended := 0.0
	for k := range want {
		r.step()
		if got := r.info("requests"); got != want[k] {
			t.Errorf("window %d has %g requests, the trace %g", k, got, want[k])
		}
		near(t, "load", r.info("load"), want[k]/30, 1e-12)
		ended += r.info("successes") + r.info("failed")
	}
	began := 0.0
	for _, n := range want {
		began += n
	}
	if under := began - ended; under != float64(r.walk.Live()) || under <= 0 {
		t.Errorf("%g began and %g ended, %d are under way", began, ended, r.walk.Live())
	}
}

// A resize takes effect as a rolling update does: nothing is lost, and what is new is there after the cold start.
func TestResizeCarriesOn(t *testing.T) {
	r := newRig(t, poisson(1), func(c *Config) { quiet(c); c.Windows = 12 })
	r.reset(3)
	for k := range 12 {
		z := rich
		z.CPU, z.Replicas = []int{1600, 1500}[k%2], []int{4, 5, 6}[k%3]
		r.all(z)
		r.step()
		if k > 0 && r.info("failed") > 0.1*r.info("requests") { // the first has what the middle of the ranges left behind
			t.Errorf("window %d: %g of %g requests failed while resizing", k, r.info("failed"), r.info("requests"))
		}
		if c := r.sim.Counts(2); c.Idle+c.Busy != z.Replicas {
			t.Errorf("window %d: %d instances are ready, want %d", k, c.Idle+c.Busy, z.Replicas)
		}
	}
}

// What the machines do not have is refused: the window is lost, and the next is not.
func TestRefused(t *testing.T) {
	most := Resources{CPU: 2000, Memory: 2048, Replicas: 8, Concurrency: 10} // 96 cores of 64
	for name, w := range map[string]workload.Config{Fresh: closed(10), Continuous: poisson(1)} {
		r := newRig(t, w, func(c *Config) { c.Windows = 3 })
		r.reset(1)
		r.all(most)
		r.step()
		if r.info("refused") != 1 || r.info("violated") != 1 || r.info("latency") != 30 || r.info("successes") != 0 ||
			r.info("success") != 0 {
			t.Errorf("%s: a refused window came to %v", name, r.out.Info)
		}
		near(t, "reward", float64(r.out.Rewards[0][0]), -0.1*r.info("price"), 1e-6)
		if n := len(r.AppendSamples(0, nil)); n != 0 {
			t.Errorf("%s: %d latencies of a refused window", name, n)
		}
		r.all(rich)
		r.step()
		if r.info("refused") != 0 || r.info("successes") == 0 {
			t.Errorf("%s: after a refused window: %v", name, r.out.Info)
		}
	}
}

// Quiet copies have the mean work, salted ones other luck under the same arrivals, muted ones no new requests.
func TestCounterfactuals(t *testing.T) {
	r := newRig(t, poisson(2), func(c *Config) { c.Windows = 6 })
	r.reset(5)
	r.all(rich)
	r.step()
	try := must.Get(r.NewEnv())(t)
	out := func(change func()) []float64 {
		must.Do(t, try.CopyFrom(r.Env))
		change()
		o := envs.NewOutcome(r.spec)
		must.Do(t, try.Step(r.act, envs.NewObservation(r.spec), o))
		return o.Info
	}
	at := func(info []float64, name string) float64 {
		i := must.Get(r.spec.InfoIndex(name))(t)
		return info[i]
	}
	same := out(func() {})
	salted := out(func() { try.Salt(1) })
	muted := out(try.Mute)
	r.step()
	if at(same, "latency") != r.info("latency") || at(same, "requests") != r.info("requests") {
		t.Errorf("a copy came to %v, the original to %v", same, r.out.Info)
	}
	if at(salted, "requests") != at(same, "requests") || at(salted, "latency") == at(same, "latency") {
		t.Errorf("salted: %v, unsalted: %v; want the same requests and another latency", salted, same)
	}
	if at(muted, "requests") != 0 || at(muted, "successes") == 0 {
		t.Errorf("muted: %v, want no new requests and those under way finished", muted)
	}
}

// A law of one's own replaces the one that comes with the environment.
func TestOwnLaw(t *testing.T) {
	own := perfmodel.Law{Work: 4, Parallel: 1}
	r := newRig(t, closed(1), func(c *Config) {
		quiet(c)
		c.Windows = 2
		c.Laws = []FunctionLaw{{Function: "update",
			Law: own}}
	})
	r.reset(1)
	r.all(rich)
	r.step()
	near(t, "p75 of update", r.seen(3, "p75"), 4, 1e-5)
}
