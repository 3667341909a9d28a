package sizing

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// worldsOf are the environments of the workflows.
func worldsOf(e envs.Env) []*Env {
	if m, ok := e.(*Many); ok {
		return m.Workflows()
	}
	return []*Env{e.(*Env)}
}

// observerOf makes the observer of an environment from JSON, as a serving program does.
func observerOf(t testing.TB, name string) *Observer {
	t.Helper()
	c := Default()
	forms[name].change(&c)
	c.Windows = formWindows
	config := must.Get(json.Marshal(c))(t)
	load := must.Get(json.Marshal(forms[name].w))(t)
	o := must.Get(OpenObserver(ID, config, load))(t)
	return o
}

// A platform that sends the simulator's measurements as JSON gets the simulator's observation, bit for bit, in each
// form; one that remembers no actions, but what it was asked for, gets it up to the rounding of these.
func TestObserver(t *testing.T) {
	for name := range forms {
		e, o := newForm(t, name), observerOf(t, name)
		want, got := *e.Spec(), *o.Spec()
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: the observer's spec is another: %+v, want %+v", name, got, want)
		}
		seen := envs.NewObservation(o.Spec())
		play(t, e, 1, func(obs *envs.Observation, _ *envs.Action) {
			var sent []Meters
			for _, w := range worldsOf(e) {
				sent = append(sent, *w.Meters())
			}
			b := must.Get(json.Marshal(sent))(t)
			read := must.Get(ParseMeters(b))(t)
			if err := o.Observe(read, seen); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !slices.Equal(obs.Kinds[0].Values, seen.Kinds[0].Values) ||
				!slices.Equal(obs.Kinds[0].Active, seen.Kinds[0].Active) {
				t.Fatalf("%s: the observation differs", name)
			}
			for i := range read {
				for f := range read[i].Functions {
					read[i].Functions[f].Action = nil
				}
			}
			must.Do(t, o.Observe(read, seen))
			width := e.Spec().Kinds[0].Observation.Width()
			for i, x := range obs.Kinds[0].Values {
				if e.Spec().Kinds[0].Features[i%width] == "last concurrency" && name != "extended" {
					continue // it is ignored in TcktApp
				}
				if math.Abs(float64(x-seen.Kinds[0].Values[i])) > 0.08 { // an eighth of a range of replicas, halved
					t.Fatalf("%s: number %d is %g without the actions, want %g", name, i, seen.Kinds[0].Values[i], x)
				}
			}
		})
	}
}

// The history that a platform keeps by Next is the simulator's.
func TestHistory(t *testing.T) {
	for _, name := range []string{"described", "described cold", "users", "extended"} {
		e := newForm(t, name).(*Env)
		var m Meters
		windows := 0
		play(t, e, 0, func(*envs.Observation, *envs.Action) {
			for ; windows < e.all; windows++ {
				m.Next()
				if windows < e.all-1 { // windows before the first observation: the simulator shows the last alone
					m.Began, m.Users = e.Meters().History.Began, e.Meters().Users
				}
			}
			h := e.Meters().History
			if name == "extended" { // three windows before the episode: their slow mean is not known here
				m.History.Slow = h.Slow
			}
			if m.History != h {
				t.Fatalf("%s, window %d: the history is %+v, want %+v", name, windows, m.History, h)
			}
			m.Began, m.Users = e.Meters().Began, e.Meters().Users
		})
	}
}

// Settings are what Step deploys, and what is beyond the machines is what it refuses.
func TestSettings(t *testing.T) {
	for _, name := range []string{"extended", "hardware", "side by side"} {
		c := Default()
		forms[name].change(&c)
		c.Windows, c.Platform.Nodes = formWindows, 4
		e := must.Get(Open(c, forms[name].w))(t)
		o := must.Get(NewObserver(ID, c, false))(t)
		to := make([]Settings, o.Spec().Kinds[0].Agents)
		refused := 0
		for seed := range uint64(2) {
			play(t, e, seed, func(_ *envs.Observation, act *envs.Action) {
				if act == nil {
					return
				}
				must.Do(t, o.Settings(act, to))
				any, from := false, 0
				for _, w := range worldsOf(e) {
					for f, x := range w.Meters().Functions {
						if s := to[from+f]; s.Resources() != w.wanted[f] || x.Asked != s || !w.result.refusedNow && x.Deployed != s {
							t.Fatalf("%s: %+v is asked for, %+v deployed, want %+v", name, x.Asked, x.Deployed, s)
						}
					}
					any, from = any || w.result.refusedNow, from+len(w.wanted)
				}
				if err := o.Fits(to); (err != nil) != any {
					t.Fatalf("%s: refused is %t, Fits says %v", name, any, err)
				} else if any {
					refused++
				}
			})
		}
		if refused == 0 || refused == 2*formWindows {
			t.Errorf("%s: %d of %d decisions are refused, want some", name, refused, 2*formWindows)
		}
	}
}

func TestObserveAllocates(t *testing.T) {
	for _, name := range []string{"extended", "described users", "side by side"} {
		e, o := newForm(t, name), observerOf(t, name)
		obs, seen := envs.NewObservation(e.Spec()), envs.NewObservation(o.Spec())
		must.Do(t, e.Reset(1, nil, obs))
		var meters []Meters
		for _, w := range worldsOf(e) {
			meters = append(meters, *w.Meters())
		}
		if n := testing.AllocsPerRun(100, func() {
			must.Do(t, o.Observe(meters, seen))
		}); n != 0 {
			t.Errorf("%s: %g allocations, want none", name, n)
		}
	}
}

// What is wrong is named by its key.
func TestMetersErrors(t *testing.T) {
	e := newForm(t, "described users").(*Env)
	play(t, e, 0, func(*envs.Observation, *envs.Action) {})
	good := must.Get(json.Marshal(e.Meters()))(t)
	o := observerOf(t, "described users")
	out := envs.NewObservation(o.Spec())
	for want, change := range map[string]func(*Meters){
		"functions are 2, want the workflow's 6: [":     func(m *Meters) { m.Functions = m.Functions[:2] },
		`functions[1].p95 is -1, want 0 to 1e+06, of "`: func(m *Meters) { m.Functions[1].P95 = -1 },
		"functions[0].memory_mb is NaN, want":           func(m *Meters) { m.Functions[0].Memory = math.NaN() },
		"functions[0].rejected is 1.5, want 0 to 1":     func(m *Meters) { m.Functions[0].Rejected = 1.5 },
		"functions[2].deployed.replicas is -1":          func(m *Meters) { m.Functions[2].Deployed.Replicas = -1 },
		"functions[2].asked.cores is +Inf":              func(m *Meters) { m.Functions[2].Asked.Cores = math.Inf(1) },
		"functions[3].action has 3 numbers, want":       func(m *Meters) { m.Functions[3].Action = []float32{0, 0, 0} },
		"functions[3].action[1] is 2, want 0 to 1":      func(m *Meters) { m.Functions[3].Action[1] = 2 },
		"meters: latency is NaN":                        func(m *Meters) { m.Latency = math.NaN() },
		"history.slow is -1":                            func(m *Meters) { m.History.Slow = -1 },
		"users is 0, want the number of closed":         func(m *Meters) { m.Users = 0 },
		"dial is 0, want what a window":                 func(m *Meters) { m.Dial = 0 },
	} {
		m := must.Get(ParseMeters(good))(t)
		change(&m[0])
		if err := o.Observe(m, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := o.Observe(nil, out); err == nil || !strings.Contains(err.Error(), "meters of 0 workflows, want 1") {
		t.Error(err)
	}
	m, _ := ParseMeters(good)
	if err := o.Observe(m, &envs.Observation{Kinds: make([]envs.KindObservation, 1)}); err == nil {
		t.Error("an observation of another spec is taken")
	}
	known := observerOf(t, "described known")
	if err := known.Observe(m, envs.NewObservation(known.Spec())); err == nil ||
		!strings.Contains(err.Error(), "forecast is missing, want the load expected in the next window") {
		t.Errorf("without a forecast: %v", err)
	}
	for text, want := range map[string]string{
		`{"functoins": []}`: "functoins", ``: "empty", `{} {}`: "more after", `[1]`: "number", `{"latency": "x"}`: "latency",
	} {
		if _, err := ParseMeters([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := OpenObserver("stoker/Sizing-v1", []byte("{}"), nil); err == nil ||
		!strings.Contains(err.Error(), CountedID) {
		t.Errorf("another version: %v", err)
	}
	if _, err := OpenObserver(ID, []byte(`{"workflow": "x"}`), nil); err == nil ||
		!strings.Contains(err.Error(), "workflow") {
		t.Errorf("another workflow: %v", err)
	}
}

// No text panics, and what is taken gives finite numbers.
func FuzzMeters(f *testing.F) {
	c := DefaultCounted()
	c.Features, c.Reward.Dial = Described, []float64{0.5, 8}
	o := must.Get(NewObserver(CountedID, c, true))(f)
	w := closed(5)
	w.Kind = workload.ClosedLoop
	c.Windows = 1
	e := must.Get(NewCounted(c, w))(f)
	out := envs.NewObservation(o.Spec())
	must.Do(f, e.Reset(1, nil, out))
	good := must.Get(json.Marshal(e.Meters()))(f)
	f.Add(good)
	f.Add([]byte(`[{"functions":[]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMeters(data)
		if err != nil || o.Observe(m, out) != nil {
			return
		}
		for i, x := range out.Kinds[0].Values {
			if x-x != 0 {
				t.Fatalf("number %d is %g for %s", i, x, data)
			}
		}
	})
}
