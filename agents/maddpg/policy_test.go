package maddpg

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// observed is a new observation of a toy.
func observed(t *testing.T, o toyOptions, seed uint64) (*envs.Observation, *envs.Action) {
	t.Helper()
	e := newToy(o)
	obs, act := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
	must.Do(t, e.Reset(seed, nil, obs))
	return obs, act
}

// TestPolicyActsAsTheLearner: without exploration policy and learner do the same, also for several copies.
func TestPolicyActsAsTheLearner(t *testing.T) {
	for _, mix := range []string{Attention, Joint, Single} {
		c := quick()
		c.Mix, c.Noise, c.NoiseFinal = mix, 0, 0
		o := toyOptions{agents: 3, length: 5}
		r := newRun(t, c, o, envs.VectorOptions{NumEnvs: 4})
		r.steps(30)
		if err := r.l.Act(r.v); err != nil { // adds the present observations to the statistics
			t.Fatal(err)
		}
		p := must.Get(r.l.Policy())(t)
		act := envs.NewAction(r.v.Spec())
		for i := range 4 {
			must.Do(t, p.Act(r.v.Obs.Env(i), act, true))
			for k, x := range act.Kinds[0] {
				if want := r.v.Act.Env(i).Kinds[0][k]; math.Abs(float64(x-want)) > 1e-5 {
					t.Errorf("%s: copy %d, action %d: policy %g, learner %g", mix, i, k, x, want)
				}
			}
		}
	}
}

// TestPolicyFileRoundTrip: a policy opened from its file acts with the same bits, and does not change while learning
// continues.
func TestPolicyFileRoundTrip(t *testing.T) {
	for _, choices := range []bool{false, true} {
		o := toyOptions{agents: 2, length: 5, choices: choices}
		r := newRun(t, quick(), o, envs.VectorOptions{})
		r.steps(30)
		p := must.Get(r.l.Policy())(t)
		obs, before := observed(t, o, 3)
		must.Do(t, p.Act(obs, before, true))
		r.steps(30)
		f := must.Get(p.Export())(t)
		q := must.Get(actor.Open(f, r.v.Spec(), native.New(native.Options{})))(t)
		if q.Name() != "attmf" {
			t.Errorf("name is %q, want attmf", q.Name())
		}
		for _, x := range []agents.Policy{p, q} {
			_, after := observed(t, o, 3)
			must.Do(t, x.Act(obs, after, true))
			if !slices.Equal(after.Kinds[0], before.Kinds[0]) {
				t.Errorf("acts %v, want %v as before", after.Kinds[0], before.Kinds[0])
			}
		}
	}
}

func TestPolicyDraws(t *testing.T) {
	o := toyOptions{agents: 2, choices: true, masked: true}
	c := quick()
	c.Mix = Joint
	r := newRun(t, c, o, envs.VectorOptions{})
	p := must.Get(r.l.Policy())(t)
	q := must.Get(r.l.Policy())(t)
	obs, act := observed(t, o, 1)
	other := envs.NewAction(r.v.Spec())
	draw := func(n int) (seen map[float32]int) {
		seen = map[float32]int{}
		for range n {
			must.Do(t, p.Act(obs, act, false))
			seen[act.Kinds[0][0]]++
		}
		return seen
	}
	if seen := draw(300); seen[1] > 0 || seen[0] < 30 || seen[2] < 30 {
		t.Errorf("draws of a fresh policy are %v, want 0 and 2 often, and 1, which is illegal, never", seen)
	}
	b := must.Get(p.AppendBinary(nil))(t)
	want := draw(50)
	must.Do(t, q.UnmarshalBinary(b))
	must.Do(t, p.CopyFrom(q))
	if got := draw(50); got[0] != want[0] {
		t.Errorf("draws after CopyFrom are %v, want %v", got, want)
	}
	for range 20 {
		must.Do(t, p.Act(obs, act, true))
		must.Do(t, q.Act(obs, other, true))
		if !slices.Equal(act.Kinds[0], other.Kinds[0]) {
			t.Error("deterministic choices vary")
		}
	}
	r.steps(30)
	changed := must.Get(r.l.Policy())(t)
	if changed.CopyFrom(p) == nil || changed.UnmarshalBinary(b) == nil {
		t.Error("a policy took the state of one with other weights")
	}
}

// stored is the file of a run's present policy.
func stored(t testing.TB, r *run) *agents.PolicyFile {
	t.Helper()
	p := must.Get(r.l.Policy())(t)
	f := must.Get(p.Export())(t)
	return &agents.PolicyFile{Agent: f.Agent, EnvID: f.EnvID, Description: f.Description, Arrays: maps.Clone(f.Arrays)}
}

func TestOpenPolicyRefuses(t *testing.T) {
	r := newRun(t, quick(), toyOptions{agents: 2}, envs.VectorOptions{})
	for name, k := range map[string]struct {
		spoil func(f *agents.PolicyFile, s *envs.Spec)
		want  string
	}{
		"environment": {func(_ *agents.PolicyFile, s *envs.Spec) { s.ID = "test/Toy-v2" }, "not for test/Toy-v2"},
		"agents": {func(_ *agents.PolicyFile, s *envs.Spec) { s.Kinds[0].Agents = 3 },
			"separate weights for 2 agents"},
		"actions": {func(_ *agents.PolicyFile, s *envs.Spec) { s.Kinds[0].Action = envs.NewBox(2, 0, 1) },
			"trained for the actions"},
		"weights":    {func(f *agents.PolicyFile, _ *envs.Spec) { delete(f.Arrays, "toy.network") }, `"toy.network"`},
		"statistics": {func(f *agents.PolicyFile, _ *envs.Spec) { delete(f.Arrays, "toy.scale") }, `"toy.scale"`},
		"description": {func(f *agents.PolicyFile, _ *envs.Spec) { f.Description = []byte(`{"format": "actor/1", "colour": 3}`) },
			"colour"},
		"format": {func(f *agents.PolicyFile, _ *envs.Spec) { f.Description = []byte(`{"format": 9}`) }, "format 9"},
		"empty":  {func(f *agents.PolicyFile, _ *envs.Spec) { f.Description = nil }, "description"},
	} {
		f := stored(t, r)
		s := newToy(toyOptions{agents: 2}).spec
		k.spoil(f, &s)
		if _, err := actor.Open(f, &s, native.New(native.Options{})); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, k.want)
		}
	}
}

// TestActingDoesNotAllocate covers the policy and the learner's whole step outside updates.
func TestActingDoesNotAllocate(t *testing.T) {
	for _, choices := range []bool{false, true} {
		o := toyOptions{agents: 3, choices: choices}
		c := quick()
		c.LearningStarts = 1e9
		r := newRun(t, c, o, envs.VectorOptions{})
		r.steps(30)
		p := must.Get(r.l.Policy())(t)
		obs, act := observed(t, o, 1)
		if n := testing.AllocsPerRun(100, func() { _ = p.Act(obs, act, false) }); n != 0 {
			t.Errorf("choices %v: a policy's step allocates %g times", choices, n)
		}
		n := testing.AllocsPerRun(100, func() {
			_ = r.l.Act(r.v)
			_ = r.v.Step()
			_ = r.l.Observe(r.v)
		})
		if n != 0 {
			t.Errorf("choices %v: a learner's step allocates %g times", choices, n)
		}
	}
}

// TestUpdatesDoNotAllocate covers sampling, upload and the recorded update, on the native engine.
func TestUpdatesDoNotAllocate(t *testing.T) {
	for _, f := range []struct{ mix, batches string }{{Attention, SharedBatch}, {Joint, SharedBatch}, {Joint, Independent},
		{None, Independent}} {
		c := quick()
		c.Mix, c.Batches = f.mix, f.batches
		r := newRun(t, c, toyOptions{agents: 3, choices: f.mix == Joint}, envs.VectorOptions{})
		r.steps(30)
		if n := testing.AllocsPerRun(50, func() { r.l.Pending = r.l.c.UpdateEvery; _ = r.l.Update() }); n != 0 {
			t.Errorf("%s, %s minibatches: an update allocates %g times", f.mix, f.batches, n)
		}
	}
}
