package spsa

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// trainer is a learner with its environments.
type trainer struct {
	v *envs.Vector
	l *Learner
}

func newTrainer(t testing.TB, build func() (envs.Env, error), c Config, copies int, seed uint64) *trainer {
	t.Helper()
	v := must.Get(envs.NewVector(build, envs.VectorOptions{NumEnvs: copies, Seed: seed}))(t)
	must.Do(t, v.Reset())
	l := must.Get(NewLearner(c, agents.Context{Spec: v.Spec(), NumEnvs: copies, Seed: seed, NewEnv: build}))(t)
	return &trainer{v, l}
}

// window is one step of every copy and the update after it.
func (s *trainer) window() error {
	if err := s.l.Act(s.v); err != nil {
		return err
	}
	if err := s.v.Step(); err != nil {
		return err
	}
	if err := s.l.Observe(s.v); err != nil {
		return err
	}
	return s.l.Update()
}

func (s *trainer) windows(t testing.TB, n int) {
	t.Helper()
	for range n {
		must.Do(t, s.window())
	}
}

// saved is everything that a checkpoint would hold, as bytes.
func (s *trainer) saved(t testing.TB) []byte {
	t.Helper()
	st := s.state(t)
	b := must.Get(s.v.AppendBinary(nil))(t)
	for _, k := range slices.Sorted(maps.Keys(st.Blobs)) {
		b = append(append(b, k...), st.Blobs[k]...)
	}
	return append(b, fmt.Sprint(st.Counters, st.Weights, st.Optimiser)...)
}

func (s *trainer) state(t testing.TB) *agents.State {
	t.Helper()
	st := agents.NewState()
	must.Do(t, s.l.Save(st))
	return st
}

// mixed is an environment with prices and baselines, short episodes and noise, and a configuration with every switch
// on.
func mixed(length int) (func() (envs.Env, error), Config) {
	o := plain(3, 2, 0.5, 3)
	o.length, o.common, o.own, o.bound = length, 1, 0.1, 5
	c := searching(&o, []float64{1, 1, 1, 5, 8})
	c.Pairs, c.PerturbationDecay, c.Adam.On, c.Capacity = 2, 0.101, true, 14
	return func() (envs.Env, error) { return newQuadratic(o), nil }, c
}

// A run that is saved and restored ends with the same bytes as one that isn't, and its metrics continue.
func TestResume(t *testing.T) {
	build, c := mixed(7)
	for _, copies := range []int{1, 3} {
		whole := newTrainer(t, build, c, copies, 5)
		whole.windows(t, 50)
		mid := whole.state(t)
		world := must.Get(whole.v.AppendBinary(nil))(t)
		whole.windows(t, 50)

		resumed := newTrainer(t, build, c, copies, 5) // which has run some windows of its own
		resumed.windows(t, 3)
		must.Do(t, resumed.v.UnmarshalBinary(world))
		must.Do(t, resumed.l.Load(mid))
		resumed.windows(t, 50)
		same := bytes.Equal(whole.saved(t), resumed.saved(t))
		proof.Claim(t, proof.Row{
			Topic: "resume",
			Claim: fmt.Sprintf("PBA with all switches on, %d copies, saved and restored in the middle: the state after 100 windows", copies),
			Bound: "equal bytes", Measured: map[bool]string{true: "equal bytes", false: "other bytes"}[same], Holds: same,
		})
		var a, b []string
		whole.l.Metrics(func(name string, x float64) { a = append(a, fmt.Sprint(name, math.Float64bits(x))) })
		resumed.l.Metrics(func(name string, x float64) { b = append(b, fmt.Sprint(name, math.Float64bits(x))) })
		if !slices.Equal(a, b) {
			t.Errorf("metrics after resuming are %v, want %v", b, a)
		}
	}
}

// A state that is truncated, forged or of another environment is refused with the reason, and changes nothing.
func TestLoadRefuses(t *testing.T) {
	build, c := mixed(7)
	s := newTrainer(t, build, c, 1, 5)
	s.windows(t, 5)
	good, before := s.state(t), s.saved(t)
	other := plain(2, 0, 1, 0)
	foreign := newTrainer(t, func() (envs.Env, error) { return newQuadratic(other), nil },
		searching(&other, []float64{0, 0}), 1, 1).state(t)
	forged := func(change func(p *Pricer)) func(s *agents.State) {
		env, err := build()
		must.Do(t, err)
		p := newPricer(t, c, env, 1)
		b := good.Blobs["pricer"]
		must.Do(t, state.Load(b, "spsa: pricer", p))
		change(p)
		if b, err = state.Append(nil, "spsa: pricer", p); err != nil {
			t.Fatal(err)
		}
		return func(s *agents.State) { s.Blobs["pricer"] = b }
	}
	whole := good.Blobs["pricer"]
	for _, bad := range []struct {
		name, want string
		change     func(s *agents.State)
	}{
		{"foreign", "2 elements, want 5", func(s *agents.State) { s.Blobs["pricer"] = foreign.Blobs["pricer"] }},
		{"empty", "0 bytes", func(s *agents.State) { s.Blobs["pricer"] = nil }},
		{"cut", "fields, its header says", func(s *agents.State) { s.Blobs["pricer"] = whole[:len(whole)-1] }},
		{"NaN", "action NaN", forged(func(p *Pricer) { p.x[0] = math.NaN() })},
		{"Δ of 2", "perturbation 2 of action 0", forged(func(p *Pricer) { p.delta[0] = 2 })},
		{"phase", "window 8 of a move, want 0 to 7", forged(func(p *Pricer) { p.phase = 8 })},
		{"moment", "second moment -1 of action 1", forged(func(p *Pricer) { p.second[1] = -1 })},
		{"profit", "profit +Inf", forged(func(p *Pricer) { p.plus = math.Inf(1) })},
		{"step", "step 2, want", forged(func(p *Pricer) { p.step = 2 })},
		{"window", "window -1 and", forged(func(p *Pricer) { p.window = -1 })},
		{"beyond a bound", "5.5, want at least -5 and at most 5", forged(func(p *Pricer) { p.x[0] = 5.5 })},
		{"no pricer", `no entry "pricer"`, func(s *agents.State) { delete(s.Blobs, "pricer") }},
		{"no sum", `no entry "objective"`, func(s *agents.State) { delete(s.Blobs, "objective") }},
		{"cut sum", "cut short", func(s *agents.State) { s.Blobs["objective"] = []byte{1} }},
		{"count", `"summed_windows" of the state is -1`, func(s *agents.State) { s.Counters["summed_windows"] = -1 }},
	} {
		st := agents.NewState()
		maps.Copy(st.Blobs, good.Blobs)
		maps.Copy(st.Counters, good.Counters)
		bad.change(st)
		if err := s.l.Load(st); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: error is %v, want one with %q", bad.name, err, bad.want)
		}
		if !bytes.Equal(s.saved(t), before) {
			t.Errorf("%s: the refused state changed something", bad.name)
		}
	}
	if err := s.l.Load(good); err != nil {
		t.Error(err)
	}
}

// Adopt takes the action, and keeps window count, stream and moments.
func TestAdopt(t *testing.T) {
	build, c := mixed(7)
	from, to := newTrainer(t, build, c, 1, 5), newTrainer(t, build, c, 1, 6)
	from.windows(t, 30)
	to.windows(t, 3)
	stream := *to.l.pricer.stream
	must.Do(t, to.l.Adopt(from.state(t)))
	p, q := to.l.pricer, from.l.pricer
	if !slices.Equal(p.x, q.x) || p.window != 3 || *p.stream != stream || slices.Equal(p.first, q.first) {
		t.Errorf("adopted %v in window %d, want %v in window 3 and nothing else", p.x, p.window, q.x)
	}
	if err := to.l.Adopt(agents.NewState()); err == nil || !strings.Contains(err.Error(), "pricer") {
		t.Errorf("an empty state gives %v", err)
	}
}

// Neither the learner nor the planner allocates in a window.
func TestNoAllocation(t *testing.T) {
	build, c := mixed(7)
	s := newTrainer(t, build, c, 3, 5)
	s.windows(t, 20)
	learner := testing.AllocsPerRun(200, func() {
		must.Do(t, s.window())
	})
	world := must.Get(build())(t)
	spare := must.Get(build())(t)
	p := must.Get(NewPlanner(c, spare))(t)
	begun(t, world, 1)
	act, obs := envs.NewAction(world.Spec()), envs.NewObservation(world.Spec())
	planner := testing.AllocsPerRun(200, func() {
		must.Do(t, p.Plan(world, obs, act))
	})
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: "PBA, all switches on: allocations in a window, learning from 3 copies and planning in one",
		Bound:    "0 and 0",
		Measured: fmt.Sprintf("%g and %g", learner, planner), Holds: learner == 0 && planner == 0,
	})
}

// Copies have the workload that the environment itself will have, and trials change nothing in the environment.
func TestCounterfactuals(t *testing.T) {
	o := marketOptions{demand: recommended, users: true, jobs: 500, length: 200}
	world := begun(t, newMarket(o), 11)
	p := newPricer(t, pricing([]float64{1, 1, 1}), newMarket(o), 1)
	act, obs, out := envs.NewAction(world.Spec()), envs.NewObservation(world.Spec()), envs.NewOutcome(world.Spec())
	equal, untouched := 0, 0
	var paired, apart sample
	stranger := begun(t, newMarket(o), 12)
	for range o.length {
		p.Action(act.Kinds[0])
		copy(p.trials.act.Kinds[0], act.Kinds[0])
		before := must.Get(world.AppendBinary(nil))(t)
		told := must.Get(p.trials.profit(world))(t)
		other := must.Get(p.trials.profit(stranger))(t)
		for m := range p.trials.act.Kinds[0] {
			p.trials.act.Kinds[0][m] += 0.05
		}
		dearer := must.Get(p.trials.profit(world))(t)
		paired.add(dearer - told)
		apart.add(dearer - other)
		must.Do(t, p.Estimate(world))
		if after, err := world.AppendBinary(nil); err == nil && bytes.Equal(before, after) {
			untouched++
		}
		p.Move()
		for _, e := range []envs.Env{world, stranger} {
			must.Do(t, e.Step(act, obs, out))
			if e == world && out.Info[0] == told {
				equal++
			}
		}
	}
	spread := func(s *sample) float64 { return s.variance() - s.mean()*s.mean() }
	ratio := spread(&apart) / spread(&paired)
	proof.Claim(t, proof.Row{
		Topic:    "agents",
		Claim:    fmt.Sprintf("PBA's counterfactual copies over %d windows of users drawn one by one: windows whose profit the copy told exactly, windows in which trying left the world's bytes alone", o.length),
		Bound:    fmt.Sprintf("%d and %d", o.length, o.length),
		Measured: fmt.Sprintf("%d and %d; the effect of 0.05 on all prices has a variance %.0f times smaller than between worlds of other seeds", equal, untouched, ratio),
		Holds:    equal == o.length && untouched == o.length && ratio > 1,
	})
}

// The planner starts anew in every episode, and its actions are a function of the seed.
func TestPlanner(t *testing.T) {
	o := marketOptions{demand: recommended, jobs: marketJobs, length: 40}
	p := must.Get(NewPlanner(pricing([]float64{1, 1, 1}), newMarket(o)))(t)
	run := rollout.NewRunner(newMarket(o))
	var first []float32
	run.OnStep = func(s rollout.Step) {
		if s.Number == 0 {
			first = slices.Clone(s.Action.Kinds[0])
		}
	}
	var profits []float64
	for _, seed := range []uint64{1, 2, 1} {
		e := must.Get(run.Episode(rollout.Actor{Planner: p}, seed))(t)
		if !slices.Equal(first, []float32{1, 1, 1}) || p.Pricer().Windows() != 40 {
			t.Errorf("seed %d: first prices are %v, want the start; %d windows", seed, first, p.Pricer().Windows())
		}
		profits = append(profits, e.Info[0])
	}
	if profits[0] != profits[2] || profits[0] == profits[1] {
		t.Errorf("profits of seeds 1, 2, 1 are %v", profits)
	}
	if p.Name() != "pba" {
		t.Error(p.Name())
	}
}

// Learners refuse with the reason.
func TestLearnerRefuses(t *testing.T) {
	build, c := mixed(7)
	env := must.Get(build())(t)
	if _, err := NewLearner(c, agents.Context{Spec: env.Spec(), NumEnvs: 0, NewEnv: build}); err == nil ||
		!strings.Contains(err.Error(), "NumEnvs is 0") {
		t.Error(err)
	}
	if _, err := NewLearner(c, agents.Context{Spec: env.Spec(), NumEnvs: 1}); err == nil ||
		!strings.Contains(err.Error(), "cannot make environments") {
		t.Error(err)
	}
	s := newTrainer(t, build, c, 1, 1)
	if err := s.l.Observe(s.v); err == nil || !strings.Contains(err.Error(), "without Act") {
		t.Error(err)
	}
	o := plain(1, 0, 1, 0)
	o.broken = true
	s = newTrainer(t, func() (envs.Env, error) { return newQuadratic(o), nil }, searching(&o, []float64{0}), 1, 1)
	if err := s.window(); err == nil || !strings.Contains(err.Error(), "the objective is NaN") {
		t.Error(err)
	}
}
