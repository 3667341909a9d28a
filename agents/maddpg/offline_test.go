package maddpg

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// transitions are steps of the toy under uniformly random actions.
func transitions(t *testing.T, o toyOptions, n int) []agents.Transition {
	t.Helper()
	e := newToy(o)
	s := e.Spec()
	before, after, act, out := envs.NewObservation(s), envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	draws := rng.NewStream(5, "test")
	list := make([]agents.Transition, n)
	for i := range list {
		must.Do(t, e.Reset(uint64(i), nil, before))
		for k := range act.Kinds[0] {
			act.Kinds[0][k] = float32(-1 + 4*draws.Float64())
		}
		must.Do(t, e.Step(act, after, out))
		clone := func(x []float32) []float32 { return append([]float32{}, x...) }
		list[i] = agents.Transition{Before: clone(before.Kinds[0].Values), After: clone(after.Kinds[0].Values),
			Action: clone(act.Kinds[0]), Rewards: clone(out.Rewards[0]), Elapsed: out.Elapsed, Terminated: out.Terminated}
	}
	return list
}

// regret is how far the policy's mean reward over episodes of one step is from the best, 0.
func regret(t *testing.T, p envs.Policy, o toyOptions) float64 {
	t.Helper()
	e := newToy(o)
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	var sum float64
	for i := range 500 {
		must.Do(t, e.Reset(uint64(1_000_000+i), nil, obs))
		if p == nil {
			for k := range act.Kinds[0] {
				act.Kinds[0][k] = 1 // the middle, the best of those that do not look
			}
		} else if err := p.Act(obs, act, true); err != nil {
			t.Fatal(err)
		}
		must.Do(t, e.Step(act, obs, out))
		for _, r := range out.Rewards[0] {
			sum -= float64(r) / 500
		}
	}
	return sum
}

// A learner that never acts learns from random steps to act nearly as well as can be, with every mix.
func TestLearnsOffline(t *testing.T) {
	o := toyOptions{agents: 2, end: true}
	list := transitions(t, o, 2_000)
	idle := regret(t, nil, o)
	for _, mix := range []string{Attention, Joint, Single, None} {
		c := quick()
		c.Mix, c.Replay, c.Batch, c.ActorRate, c.CriticRate = mix, len(list), 64, 1e-3, 1e-3
		r := newRun(t, c, o, envs.VectorOptions{NumEnvs: 1})
		for i := range list {
			must.Do(t, r.l.Take(&list[i]))
		}
		for range 3_000 {
			must.Do(t, r.l.Learn())
		}
		p := must.Get(r.l.Policy())(t)
		if got := regret(t, p, o); got > idle/3 {
			t.Errorf("%s: regret %.4f, want a third at most of that of the middle, %.4f", mix, got, idle)
		}
	}
}

// A taken transition is the row that acting would have stored.
func TestTakeStoresWhatObserveDoes(t *testing.T) {
	o := toyOptions{agents: 2, end: true, uneven: true}
	c := quick()
	c.GammaSeconds = 1
	r := newRun(t, c, o, envs.VectorOptions{NumEnvs: 1})
	r.steps(1)
	other := newRun(t, c, o, envs.VectorOptions{NumEnvs: 1})
	v := r.v
	err := other.l.Take(&agents.Transition{
		Before: v.Before.Env(0).Kinds[0].Values, After: v.After.Env(0).Kinds[0].Values, Action: v.Act.Env(0).Kinds[0],
		Rewards: v.Rewards[0], Elapsed: v.Elapsed[0], Terminated: v.Terminated[0],
	})
	must.Do(t, err)
	a, b := r.l.Replay(), other.l.Replay()
	x, y := make([]float32, a.Width()), make([]float32, b.Width())
	a.Rows([]int64{0}, x)
	b.Rows([]int64{0}, y)
	for i := range x {
		if d := x[i] - y[i]; d > 1e-6 || d < -1e-6 {
			t.Fatalf("taken row is %v, stored one %v", y, x)
		}
	}
}

func TestOfflineRefuses(t *testing.T) {
	r := newRun(t, quick(), toyOptions{agents: 2}, envs.VectorOptions{NumEnvs: 1})
	if err := r.l.Learn(); err == nil || !strings.Contains(err.Error(), "nothing in the replay") {
		t.Errorf("an update without rows: %v", err)
	}
	if err := r.l.Take(&agents.Transition{Before: []float32{1}}); err == nil ||
		!strings.Contains(err.Error(), "1 numbers of observations, want 4") {
		t.Errorf("a short transition: %v", err)
	}
	r = newRun(t, quick(), toyOptions{agents: 2, choices: true}, envs.VectorOptions{NumEnvs: 1})
	if err := r.l.Take(&agents.Transition{}); err == nil || !strings.Contains(err.Error(), "are choices") {
		t.Errorf("choices: %v", err)
	}
}
