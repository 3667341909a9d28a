package online

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/agents/safe"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

func newEnv(t *testing.T) envs.Env {
	t.Helper()
	c, w := sizing.Default(), workload.Default()
	w.Kind, c.Windows = workload.ClosedLoop, 30
	env := must.Get(sizing.New(c, w))(t)
	return env
}

// counted is a learner whose calls are counted.
type counted struct {
	agents.Offline
	learns, takes *int
}

func (c counted) Learn() error {
	*c.learns++
	return c.Offline.Learn()
}

func (c counted) Take(t *agents.Transition) error {
	*c.takes++
	return c.Offline.Take(t)
}

func (c counted) Policy() (agents.Policy, error) {
	p, err := c.Offline.Policy()
	return &follower{Policy: p}, err
}

// follower is a policy that counts the windows that it and those before it have decided.
type follower struct {
	agents.Policy
	windows int
}

func (f *follower) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	f.windows++
	return f.Policy.Act(obs, act, deterministic)
}

func (f *follower) Follow(before envs.Policy) error {
	f.windows = before.(*follower).windows
	return nil
}

func (f *follower) CopyFrom(src envs.Policy) error {
	f.windows = src.(*follower).windows
	return f.Policy.CopyFrom(src.(*follower).Policy)
}

// world is a tuner in its environment.
type world struct {
	t             *testing.T
	env           envs.Env
	tuner         *Tuner
	obs           *envs.Observation
	act           *envs.Action
	out           *envs.Outcome
	learns, takes int
}

func newWorld(t *testing.T, c Config, guard func(seed uint64) (*safe.Guard, error)) *world {
	t.Helper()
	w := &world{t: t, env: newEnv(t)}
	s := w.env.Spec()
	w.obs, w.act, w.out = envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	make := func(seed uint64) (agents.Offline, error) {
		m := maddpg.Default()
		m.Hidden, m.Keys, m.Batch, m.Replay, m.ActorRate = []int{8}, 4, 4, 20, 1e-2
		e := native.New(native.Options{Threads: 1})
		l, err := maddpg.New(m, agents.Context{Spec: s, NumEnvs: 1, Train: e, Act: e, Seed: seed, Steps: 1000})
		if err != nil {
			return nil, err
		}
		n := s.Kinds[0].Agents
		one := agents.Transition{Before: w.obs.Kinds[0].Values, After: w.obs.Kinds[0].Values, Action: w.act.Kinds[0],
			Rewards: slices.Repeat([]float32{1}, n)}
		return counted{l, &w.learns, &w.takes}, l.Take(&one)
	}
	var err error
	if w.tuner, err = New(c, Setup{Name: "test", Env: w.env, Learner: make, Guard: guard}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) reset(seed uint64) {
	w.t.Helper()
	if err := w.env.Reset(seed, nil, w.obs); err != nil {
		w.t.Fatal(err)
	}
	if err := w.tuner.Reset(seed); err != nil {
		w.t.Fatal(err)
	}
	w.learns, w.takes = 0, 0
}

// window is one window; it returns the configuration.
func (w *world) window() []float32 {
	w.t.Helper()
	for _, do := range []func() error{
		func() error { return w.tuner.Propose(w.obs, w.act) }, func() error { return w.env.Step(w.act, w.obs, w.out) },
		func() error { return w.tuner.Observe(w.act, w.out) },
	} {
		if err := do(); err != nil {
			w.t.Fatal(err)
		}
	}
	return slices.Clone(w.act.Kinds[0])
}

// FaaSConf's schedule: updates before windows 1, 4, 7, 10 and 13; the windows before have then become
// transitions; from the 16th on the cheapest feasible configuration is held and nothing is learned.
func TestSchedule(t *testing.T) {
	c := Default()
	c.Noise = 0.2
	w := newWorld(t, c, nil)
	w.reset(3)
	var actions [][]float32
	best, price := -1, 0.0
	for n := range 15 {
		actions = append(actions, w.window())
		if want, takes := n/3+1, n/3*3; w.learns != want || w.takes != takes {
			t.Fatalf("window %d: %d updates and %d transitions, want %d and %d", n+1, w.learns, w.takes, want, takes)
		}
		if w.tuner.Decided() != ByPolicy {
			t.Errorf("window %d was decided by %q", n+1, w.tuner.Decided())
		}
		if got := w.tuner.policy.(*follower).windows; got != n+1 {
			t.Errorf("after window %d the policy remembers %d windows", n+1, got)
		}
		if w.out.Info[2] == 0 && (best < 0 || w.out.Info[0] < price) {
			best, price = n, w.out.Info[0]
		}
	}
	if best < 0 {
		t.Fatal("no window was feasible: the test shows nothing")
	}
	for range 2 {
		if got := w.window(); !slices.Equal(got, actions[best]) || w.tuner.Decided() != ByBest {
			t.Errorf("after the search %v is held by %s, want window %d's", got[:4], w.tuner.Decided(), best+1)
		}
	}
	if w.learns != 5 || w.takes != 12 {
		t.Errorf("%d updates and %d transitions in all, want 5 and 12", w.learns, w.takes)
	}
	w.reset(3)
	if got := w.tuner.policy.(*follower).windows; got != 0 {
		t.Errorf("a new search remembers %d windows", got)
	}
	if again := w.window(); !slices.Equal(again, actions[0]) {
		t.Error("after a Reset with the same seed the first configuration is another")
	}
	w.reset(4)
	if other := w.window(); slices.Equal(other, actions[0]) {
		t.Error("another seed gives the same configuration")
	}
}

// guardAt makes safe exploration whose only safe configuration is the middle, with a range about a price.
func guardAt(price float64) func(uint64) (*safe.Guard, error) {
	return func(seed uint64) (*safe.Guard, error) {
		r := safe.Default()
		r.MinHistory, r.Noise, r.LoadStep = 1, 0, 1
		g := safe.New(r, 24, rng.NewStream(seed, "test"))
		g.Observe(10, price, false, slices.Repeat([]float32{0.5}, 24))
		g.Take([]safe.Band{{Application: "parallel", Load: 10, Low: price - 0.5, High: price + 0.5}})
		return g, nil
	}
}

// A configuration whose price is out of range is replaced before it is used, and learned from as what was used.
func TestSafe(t *testing.T) {
	w := newWorld(t, Default(), guardAt(1))
	w.reset(1)
	if got := w.window(); w.tuner.Decided() != BySafe || got[0] != 0.5 || got[23] != 0.5 {
		t.Errorf("an expensive configuration was decided by %s: %v", w.tuner.Decided(), got)
	}
	w = newWorld(t, Default(), guardAt(5))
	w.reset(1)
	if w.window(); w.tuner.Decided() != ByPolicy {
		t.Errorf("a configuration of %g USD/h within the range was decided by %s", w.out.Info[0], w.tuner.Decided())
	}
	// Three violations make the range anew.
	for range 3 {
		must.Do(t, w.tuner.Observe(w.act, &envs.Outcome{Info: violated(w.out.Info), Rewards: w.out.Rewards}))
	}
	if b := w.tuner.Guard().Bands("parallel"); len(b) != 1 || b[0].Remade != 1 {
		t.Errorf("bands are %+v after three violations", b)
	}
}

func violated(info []float64) []float64 {
	out := slices.Clone(info)
	out[2] = 1
	return out
}

// A tuner whose state was saved and loaded goes on as one that was not, from any window.
func TestStateIsExact(t *testing.T) {
	c := Default()
	c.Noise = 0.1
	for _, stop := range []int{0, 1, 3, 8, 15, 17} {
		a, b := newWorld(t, c, guardAt(5)), newWorld(t, c, guardAt(5))
		a.reset(7)
		for range stop {
			a.window()
		}
		state := must.Get(a.tuner.AppendBinary(nil))(t)
		b.reset(99)
		b.window()
		must.Do(t, b.tuner.UnmarshalBinary(state))
		if again, err := b.tuner.AppendBinary(nil); err != nil || !bytes.Equal(again, state) {
			t.Fatalf("window %d: the loaded state is another (%v)", stop, err)
		}
		must.Do(t, b.env.CopyFrom(a.env))
		b.obs.CopyFrom(a.obs)
		for n := stop; n < 18; n++ {
			x, y := a.window(), b.window()
			if !slices.Equal(x, y) || fmt.Sprint(a.out.Info) != fmt.Sprint(b.out.Info) {
				t.Fatalf("saved before window %d: window %d is %v, want %v", stop+1, n+1, y, x)
			}
		}
	}
	w := newWorld(t, c, nil)
	if _, err := w.tuner.AppendBinary(nil); err == nil {
		t.Error("a state before Reset was saved")
	}
	for _, bad := range []string{"", "{}", `{"learner":{},"tried":99}`, `{"learner":{},"tried":1,"guard":"AA=="}`} {
		if err := w.tuner.UnmarshalBinary([]byte(bad)); err == nil {
			t.Errorf("the state %q was accepted", bad)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	lqr := must.Get(classic.NewLQR(classic.DefaultLQR()))(t)
	for want, k := range map[string]struct {
		change func(*Config)
		env    envs.Env
	}{
		"windows is 0":           {func(c *Config) { c.Windows = 0 }, newEnv(t)},
		"low is 0.5, want less":  {func(c *Config) { c.Low, c.High = 0.5, 0.5 }, newEnv(t)},
		"want numbers from 0 to": {func(*Config) {}, lqr},
	} {
		c := Default()
		k.change(&c)
		if _, err := New(c, Setup{Env: k.env}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
