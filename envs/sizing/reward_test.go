package sizing

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// The forms of the reward on the same windows, one that keeps the QoS and one that does not.
func TestRewardForms(t *testing.T) {
	poor := Resources{CPU: 600, Memory: 600, Replicas: 2, Concurrency: 2}
	for _, form := range []string{PaperReward, CodeReward, LocalGlobalReward} {
		r := newRig(t, closed(10), func(c *Config) { c.Windows, c.Reward.Form = 3, form })
		r.reset(1)
		for _, z := range []Resources{rich, poor} {
			r.all(z)
			r.step()
			kept := r.info("violated") == 0
			if kept != (z == rich) {
				t.Fatalf("%+v: violated is %g", z, r.info("violated"))
			}
			for f, got := range r.out.Rewards[0] {
				want := -0.1 * r.info("price")
				switch {
				case form == PaperReward && kept:
					want += 0.5
				case form == CodeReward && !kept:
					want -= 0.5
				case form == LocalGlobalReward:
					local := -r.info("price")/6 + 0.2*r.app.refs[f]/r.functions[f].p75
					want = 0.5*local + 0.5*(0.7*13/r.info("latency")+0.3*r.info("successes")/20)
				}
				near(t, form+" reward", float64(got), want, 1e-6)
			}
		}
	}
}

// The thresholds of an episode: given ones first, then those of the table.
func TestQoS(t *testing.T) {
	for name, c := range map[string]struct {
		w      workload.Config
		change func(*Config)
		want   QoS
	}{
		"FaaSConf's own": {closed(10), nil, QoS{Latency: 13, Count: 20}},
		"given": {closed(10), func(c *Config) { c.QoS.QoS = QoS{Latency: 15, Count: 7} },
			QoS{Latency: 15, Count: 7}},
		"between listed users": {closed(12), nil, thresholds[Parallel][1].QoS},
		"beyond listed users":  {closed(99), nil, thresholds[Parallel][4].QoS},
		"below listed users":   {closed(1), nil, QoS{Latency: 13, Count: 20}},
		"rising with users": {closed(30), func(c *Config) { c.QoS.Table, c.Workflow = RisingQoS, TcktApp },
			QoS{Latency: 4, Count: 195, Success: 0.9}},
		"rising, FaaSConf's own": {closed(10), func(c *Config) { c.QoS.Table = RisingQoS },
			QoS{Latency: 13, Count: 20, Success: 0.9}},
		"rising under a trace": {DefaultWorkload(), func(c *Config) { c.QoS.Table = RisingQoS },
			QoS{Latency: 13, Success: 0.9}},
		"trace": {DefaultWorkload(), nil, QoS{Latency: 13, Success: 0.9}},
		"trace of another flow": {DefaultWorkload(), func(c *Config) { c.Workflow = Branch },
			QoS{Latency: 8.5, Success: 0.9}},
	} {
		r := newRig(t, c.w, func(x *Config) {
			x.Windows, x.Warmup = 1, 0
			if c.change != nil {
				c.change(x)
			}
		})
		r.reset(1)
		if got := r.QoS(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Prices: the paper's rate, and its equation with execution times.
func TestPriceForms(t *testing.T) {
	price := func(change func(*Config)) (*rig, float64) {
		r := newRig(t, closed(10), func(c *Config) { c.Windows = 2; change(c) })
		r.reset(1)
		r.all(rich)
		r.step()
		return r, r.info("price")
	}
	_, p := price(func(c *Config) { c.Price.Memory = 0.0123 })
	near(t, "price at the paper's rate", p, 30*(1.6*0.173+2.048*0.0123), 1e-12)
	r, p := price(func(c *Config) { c.Price.ExecTime = true })
	var want float64
	for f := range r.functions {
		want += r.functions[f].mean * 5 * (1.6*0.173 + 2.048*0.012)
	}
	near(t, "price times execution time", p, want, 1e-9)
	if one := Default().Price; one.rates().CPU != 0.000173 || one.rates().Memory != 0.000012 {
		t.Errorf("the default rates are %+v, want FaaSConf's literals", one.rates())
	}
}

// A window without any request keeps the QoS, one whose requests have all yet to end does not.
func TestEmptyWindows(t *testing.T) {
	r := newRig(t, poisson(0.004), func(c *Config) { c.Windows = 30 })
	r.reset(2)
	idle := 0
	for range 30 {
		r.all(rich)
		r.step()
		if r.info("requests") == 0 && r.info("successes") == 0 && r.walk.Live() == 0 {
			idle++
			if r.info("violated") != 0 || r.info("latency") != 0 || r.info("success") != 1 {
				t.Errorf("an idle window came to %v", r.out.Info)
			}
		}
	}
	if idle == 0 {
		t.Error("no idle window at one request in four minutes")
	}
	slow := newRig(t, poisson(0.5), func(c *Config) {
		c.Windows, c.Warmup = 1, 0
		c.Laws = []FunctionLaw{{Function: "starter"}}
		c.Laws[0].Work, c.Laws[0].Parallel = 40, 1
	})
	slow.reset(1)
	slow.all(rich)
	slow.step()
	if slow.info("violated") != 1 || slow.info("latency") != 30 || slow.info("success") != 0 {
		t.Errorf("a window in which nothing ended came to %v", slow.out.Info)
	}
}

// What agents see: their own action, the load of the last window or the coming one, the change.
func TestObservation(t *testing.T) {
	r := newRig(t, DefaultWorkload(), func(c *Config) { c.Windows, c.Start = 6, 700 })
	known := newRig(t, DefaultWorkload(), func(c *Config) { c.Windows, c.Start, c.LoadKnown = 6, 700, true })
	r.reset(3)
	known.reset(3)
	if w := r.spec.Kinds[0].Observation.Width(); w != 16 {
		t.Errorf("%d extended features, want 16", w)
	}
	last := r.seen(0, "load")
	for k := range 6 {
		// The start is 700 minutes on; before it comes the warm-up window.
		minute := (2*700 + 1 + k) / 2
		near(t, "known load", known.seen(2, "load"), known.source.Expected(0, minute)/60, 1e-6)
		r.all(rich)
		known.all(rich)
		r.step()
		known.step()
		near(t, "load", r.seen(4, "load"), r.info("requests")/30, 1e-6)
		near(t, "load change", r.seen(4, "load change"), r.seen(4, "load")-last, 1e-6)
		last = r.seen(4, "load")
		for i := range 4 {
			if got, want := r.obs.Kinds[0].Values[2*16+i], r.act.Kinds[0][2*4+i]; got != want {
				t.Errorf("the action seen is %g, want %g", got, want)
			}
		}
	}
	for name, c := range map[string]struct {
		flow, features string
		width          int
	}{
		"paper": {Parallel, PaperFeatures, 11}, "paper without concurrency": {TcktApp, PaperFeatures, 10},
		"extended without concurrency": {TcktApp, ExtendedFeatures, 15},
	} {
		x := newRig(t, closed(10), func(cfg *Config) { cfg.Workflow, cfg.Features = c.flow, c.features })
		k := x.spec.Kinds[0]
		if k.Observation.Width() != c.width || len(k.Features) != c.width {
			t.Errorf("%s: %d features with %d names, want %d", name, k.Observation.Width(), len(k.Features), c.width)
		}
	}
}

// Agents, actions and neighbours of the four workflows.
func TestSpecs(t *testing.T) {
	for name, agents := range map[string]int{Sequential: 5, Parallel: 6, Branch: 7, TcktApp: 12} {
		r := newRig(t, closed(10), func(c *Config) { c.Workflow = name })
		k := r.spec.Kinds[0]
		want := 4
		if name == TcktApp {
			want = 3
		}
		if k.Agents != agents || k.Action.Width() != want || len(k.Neighbours) != agents {
			t.Errorf("%s: %d agents of %d components with %d lists of neighbours, want %d of %d", name, k.Agents,
				k.Action.Width(), len(k.Neighbours), agents, want)
		}
		for f, near := range k.Neighbours {
			if len(near) == 0 {
				t.Errorf("%s: function %d has no neighbours", name, f)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	users := newRig(t, closed(10), func(c *Config) { c.Windows, c.Users = 2, []int{3, 7} })
	seen := map[float64]bool{}
	for seed := range uint64(20) {
		users.reset(seed)
		seen[users.seen(0, "load")] = true
	}
	if !seen[3] || !seen[7] || len(seen) != 2 {
		t.Errorf("numbers of users drawn: %v, want 3 and 7", seen)
	}
	trace := newRig(t, DefaultWorkload(), func(c *Config) { c.Windows = 10 })
	for _, c := range []struct {
		r  *rig
		o  envs.Options
		ok bool
	}{
		{users, envs.Options{"users": 25}, true}, {users, envs.Options{"users": 0}, false}, {users,
			envs.Options{"users": 2.5}, false},
		{users, envs.Options{"users": "ten"}, false}, {users, envs.Options{"start": 3}, false},
		{trace, envs.Options{"start": 3}, true}, {trace, envs.Options{"start": 1434.5}, true}, {trace,
			envs.Options{"start": 1435.0}, false},
		{trace, envs.Options{"start": -1}, false}, {trace, envs.Options{"users": 5}, false}, {trace, envs.Options{"seed": 5},
			false},
	} {
		err := c.r.Reset(1, c.o, c.r.obs)
		if (err == nil) != c.ok {
			t.Errorf("options %v: %v", c.o, err)
		}
	}
	if err := users.Reset(1, envs.Options{"users": 25}, users.obs); err != nil || users.seen(0, "load") != 25 ||
		users.QoS() != thresholds[Parallel][3].QoS {
		t.Errorf("25 users: load %g, QoS %+v (%v)", users.seen(0, "load"), users.QoS(), err)
	}
}
