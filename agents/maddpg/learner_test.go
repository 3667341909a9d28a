package maddpg

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// quick is a configuration that learns fast.
func quick() Config {
	c := Default()
	c.Hidden, c.Keys, c.Batch, c.Replay = []int{16, 16}, 4, 16, 64
	c.RandomSteps, c.LearningStarts, c.UpdateEvery = 20, 20, 2
	return c
}

// run is a learner and its vector of environments.
type run struct {
	t testing.TB
	l *Learner
	v *envs.Vector
}

func newRun(t testing.TB, c Config, o toyOptions, vo envs.VectorOptions, engines ...nets.Engine) *run {
	t.Helper()
	if vo.NumEnvs == 0 {
		vo.NumEnvs = 3
	}
	vo.Seed = 11
	v := must.Get(envs.NewVector(func() (envs.Env, error) { return newToy(o), nil }, vo))(t)
	e := native.New(native.Options{})
	ctx := agents.Context{Spec: v.Spec(), NumEnvs: vo.NumEnvs, Train: e, Act: e, Seed: 4, Steps: 10_000}
	if len(engines) == 2 {
		ctx.Train, ctx.Act = engines[0], engines[1]
	}
	l := must.Get(New(c, ctx))(t)
	must.Do(t, v.Reset())
	return &run{t, l, v}
}

func (r *run) step() {
	r.t.Helper()
	for _, f := range []func() error{
		func() error { return r.l.Act(r.v) }, r.v.Step, func() error { return r.l.Observe(r.v) }, r.l.Update,
	} {
		if err := f(); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *run) steps(n int) {
	r.t.Helper()
	for range n {
		r.step()
	}
}

// hash is the hash of the parameters of all four networks.
func (r *run) hash() string {
	r.t.Helper()
	h := sha256.New()
	u := r.l.update
	for _, n := range []nets.Net{u.actor, u.critic, u.actorTarget, u.criticTarget} {
		p := make([]float32, nets.Size(n.Params()))
		n.Params().Get(p)
		if err := binary.Write(h, binary.LittleEndian, p); err != nil {
			r.t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

func (r *run) metrics() map[string]float64 {
	m := map[string]float64{}
	r.l.Metrics(func(name string, v float64) { m[name] = v })
	return m
}

// TestResume: a learner restored from a state and a replay buffer continues bit for bit, metrics included.
func TestResume(t *testing.T) {
	safe := quick()
	safe.Safe.On, safe.Safe.MinHistory, safe.Safe.History = true, 5, 30
	absent := quick()
	absent.Absent = true
	joint := quick()
	joint.Mix = Joint
	single := quick()
	single.Mix = Single
	independent, alone := joint, quick()
	independent.Batches = Independent
	alone.Mix, alone.Batches = None, Independent
	shared := quick()
	shared.Shared, shared.RateFinal = true, 0.1
	for name, k := range map[string]struct {
		c Config
		o toyOptions
	}{
		"attention, safe":                {safe, toyOptions{agents: 3, length: 5}},
		"attention, shared":              {shared, toyOptions{agents: 3, length: 5}},
		"joint, choices":                 {joint, toyOptions{agents: 2, length: 5, choices: true, masked: true}},
		"joint, independent minibatches": {independent, toyOptions{agents: 3, length: 5, choices: true, masked: true}},
		"none, independent minibatches":  {alone, toyOptions{agents: 3, length: 5}},
		"absent":                         {absent, toyOptions{agents: 3, length: 5, absence: true}},
		"single, uneven steps":           {single, toyOptions{agents: 2, length: 5, uneven: true, end: true}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newRun(t, k.c, k.o, envs.VectorOptions{})
			a.steps(30) // more than the replay buffer holds
			b := newRun(t, k.c, k.o, envs.VectorOptions{})
			b.restore(a)
			a.steps(25)
			b.steps(25)
			if ha, hb := a.hash(), b.hash(); ha != hb {
				t.Errorf("parameters after continuing: %s, after restoring: %s", ha, hb)
			}
			am, bm := a.metrics(), b.metrics()
			for name, x := range am {
				if y, ok := bm[name]; !ok || x != y {
					t.Errorf("%s is %v, restored: %v", name, x, y)
				}
			}
			if am["train/n_updates"] == 0 {
				t.Error("nothing was learned")
			}
		})
	}
}

// restore copies the state of a to r: learner, replay buffer and environments.
func (r *run) restore(a *run) {
	r.t.Helper()
	s := agents.NewState()
	if err := a.l.Save(s); err != nil {
		r.t.Fatal(err)
	}
	if err := r.l.Load(s); err != nil {
		r.t.Fatal(err)
	}
	from, to := a.l.Replay(), r.l.Replay()
	if err := to.Restore(from.First()); err != nil {
		r.t.Fatal(err)
	}
	for n := from.First(); n < from.Next(); n++ {
		if err := to.SetRow(from.AppendRow(n, nil)); err != nil {
			r.t.Fatal(err)
		}
	}
	b, err := a.v.AppendBinary(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.v.UnmarshalBinary(b); err != nil {
		r.t.Fatal(err)
	}
}

func TestLoadRefuses(t *testing.T) {
	a := newRun(t, quick(), toyOptions{agents: 3}, envs.VectorOptions{})
	for name, k := range map[string]struct {
		spoil func(*agents.State)
		want  string
	}{
		"weights": {func(s *agents.State) { delete(s.Weights, "critic") }, `"critic"`},
		"sizes": {func(s *agents.State) { s.Weights["actor"] = agents.Array{Shape: []int{1}, Data: []float32{1}} },
			`"actor" has shape`},
		"optimiser":  {func(s *agents.State) { delete(s.Optimiser, "actor.first_moment") }, `"actor.first_moment"`},
		"counter":    {func(s *agents.State) { s.Counters["steps"] = -1 }, `"steps"`},
		"stream":     {func(s *agents.State) { s.Blobs["streams"] = nil }, "maddpg: streams: saved state of 0 bytes"},
		"statistics": {func(s *agents.State) { delete(s.Blobs, "observations") }, `"observations"`},
	} {
		s := agents.NewState()
		must.Do(t, a.l.Save(s))
		k.spoil(s)
		if err := a.l.Load(s); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: error %v, want one with %s", name, err, k.want)
		}
	}
}

// TestUpdatesDue counts updates against the schedule.
func TestUpdatesDue(t *testing.T) {
	for _, k := range []struct {
		copies, steps int
		starts, every int64
		gradient      int
		want          float64
	}{
		{1, 50, 20, 1, 1, 30},
		{1, 50, 20, 3, 2, 20}, // rounds of updates after steps 23, 26, … 50
		{8, 10, 16, 1, 1, 64},
		{8, 50, 200, 100, 1, 2}, // 200 steps of learning, two rounds
		{4, 10, 1_000, 1, 1, 0},
	} {
		c := quick()
		c.Batch, c.LearningStarts, c.UpdateEvery, c.GradientSteps = 2, k.starts, k.every, k.gradient
		r := newRun(t, c, toyOptions{agents: 2}, envs.VectorOptions{NumEnvs: k.copies})
		r.steps(k.steps)
		if got := r.metrics()["train/n_updates"]; got != k.want {
			t.Errorf("%+v: %g updates", k, got)
		}
	}
}

// TestExplorationNoise checks the noise schedule and the bounds of exploring actions.
func TestExplorationNoise(t *testing.T) {
	c := quick()
	c.Noise, c.NoiseFinal, c.NoiseSteps, c.NoiseLow, c.NoiseHigh, c.LearningStarts = 0.4, 0.2, 100, 0.1, 0.9, 1e6
	r := newRun(t, c, toyOptions{agents: 2}, envs.VectorOptions{NumEnvs: 1})
	for _, k := range []struct {
		at   int64
		want float64
	}{{0, 0.4}, {50, 0.3}, {100, 0.2}, {1000, 0.2}} {
		r.l.Steps = k.at
		if got := r.l.noise(); math.Abs(got-k.want) > 1e-12 {
			t.Errorf("noise at step %d is %g, want %g", k.at, got, k.want)
		}
	}
	lo, hi := float32(1), float32(0)
	for _, at := range []int64{0, 500} { // random actions, then actions with noise
		r.l.Steps = at
		for range 300 {
			must.Do(t, r.l.Act(r.v))
			for _, u := range r.l.taken {
				lo, hi = min(lo, u), max(hi, u)
			}
		}
		if lo < 0.1 || hi > 0.9 || lo > 0.12 || hi < 0.88 {
			t.Errorf("actions at step %d lie in [%g, %g], want about [0.1, 0.9]", at, lo, hi)
		}
	}
}

func TestDivergedActorIsRefused(t *testing.T) {
	r := newRun(t, quick(), toyOptions{agents: 2}, envs.VectorOptions{NumEnvs: 2})
	must.Do(t, r.l.Act(r.v))
	must.Do(t, r.v.Step())
	must.Do(t, r.l.Observe(r.v))
	if err := r.l.Observe(r.v); err == nil {
		t.Error("Observe without Act was accepted")
	}
	r.l.Steps = 1_000
	p := make([]float32, nets.Size(r.l.acting.Net.Params()))
	for i := range p {
		p[i] = float32(math.Inf(1))
	}
	r.l.acting.Net.Params().Set(p)
	if err := r.l.Act(r.v); err == nil || !strings.Contains(err.Error(), "diverged") {
		t.Errorf("an actor of infinite weights gave %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	e := native.New(native.Options{})
	two := newToy(toyOptions{agents: 2}).spec
	two.Kinds = append(two.Kinds, two.Kinds[0])
	graphs := newToy(toyOptions{agents: 2}).spec
	graphs.Kinds = slices.Clone(graphs.Kinds)
	graphs.Kinds[0].Observation = envs.Graph{}
	dependent := newToy(toyOptions{agents: 2, choices: true}).spec
	dependent.Kinds[0].MaskAfter = func(*envs.KindObservation, int, []float32, []bool) error { return nil }
	bad := quick()
	bad.Tau = 2
	safe := quick()
	safe.Safe.On, safe.Safe.Price = true, "cost"
	safeChoices := quick()
	safeChoices.Safe.On = true
	for name, k := range map[string]struct {
		c    Config
		s    *envs.Spec
		e    nets.Engine
		want string
	}{
		"two kinds":     {quick(), &two, e, "2 kinds of agents"},
		"graphs":        {quick(), &graphs, e, "want a vector"},
		"masks":         {quick(), &dependent, e, "depends on earlier components"},
		"configuration": {bad, newToy(toyOptions{agents: 2}).Spec(), e, "tau is 2"},
		"float64": {quick(), newToy(toyOptions{agents: 2}).Spec(), native.New(native.Options{DType: nets.Float64}),
			"want float32"},
		"safe, price":   {safe, newToy(toyOptions{agents: 2}).Spec(), e, `no quantity "cost"`},
		"safe, choices": {safeChoices, newToy(toyOptions{agents: 2, choices: true}).Spec(), e, "are choices"},
	} {
		if _, err := New(k.c, agents.Context{Spec: k.s, NumEnvs: 1, Train: k.e, Act: k.e}); err == nil ||
			!strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, k.want)
		}
	}
}

// TestRatesFall: a falling learning rate changes what is learned, and the metrics report it.
func TestRatesFall(t *testing.T) {
	o := toyOptions{agents: 2, length: 5}
	c := quick()
	a := newRun(t, c, o, envs.VectorOptions{NumEnvs: 1})
	c.RateFinal = 0.2
	b := newRun(t, c, o, envs.VectorOptions{NumEnvs: 1})
	b.l.ctx.Steps = 100
	a.steps(50)
	b.steps(50)
	if a.hash() == b.hash() {
		t.Error("a rate that falls learned the same as one that doesn't")
	}
	if got, want := b.metrics()["train/learning_rate"], 0.6e-4; math.Abs(got-want) > 1e-12 {
		t.Errorf("rate halfway is %g, want %g", got, want)
	}
}

// TestTwoEngines: a learner that acts on another engine than the one it trains on learns the same.
func TestTwoEngines(t *testing.T) {
	o := toyOptions{agents: 3, length: 5}
	a := newRun(t, quick(), o, envs.VectorOptions{})
	b := newRun(t, quick(), o, envs.VectorOptions{}, native.New(native.Options{}), native.New(native.Options{}))
	a.steps(40)
	b.steps(40)
	if a.hash() != b.hash() {
		t.Error("a learner that acts on another engine learned something else")
	}
}
