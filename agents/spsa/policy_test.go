package spsa

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
)

// A policy holds the learner's present action, and its file gives the same action.
func TestPolicy(t *testing.T) {
	build, c := mixed(7)
	s := newTrainer(t, build, c, 1, 5)
	s.windows(t, 20)
	p := must.Get(s.l.Policy())(t)
	want := make([]float32, 5)
	s.l.pricer.Action(want)
	s.windows(t, 20) // it does not change as learning goes on
	f := must.Get(p.Export())(t)
	q := must.Get(actor.Open(f, s.v.Spec(), nil))(t)
	obs, act := envs.NewObservation(s.v.Spec()), envs.NewAction(s.v.Spec())
	obs.Kinds[0].Active[0] = true
	for _, x := range []envs.Policy{p, q} {
		must.Do(t, x.Act(obs, act, true))
		if !slices.Equal(act.Kinds[0], want) {
			t.Errorf("it does %v, want %v", act.Kinds[0], want)
		}
	}
	b := must.Get(p.AppendBinary(nil))(t)
	if err := q.UnmarshalBinary(b); err != nil {
		t.Error(err)
	}
	if err := q.CopyFrom(p); err != nil {
		t.Error(err)
	}
	later := must.Get(s.l.Policy())(t)
	if q.CopyFrom(later) == nil || later.UnmarshalBinary(b) == nil {
		t.Error("a policy took the state of one that holds another action")
	}
	obs.Kinds[0].Active[0] = false
	if err := q.Act(obs, act, true); err != nil || slices.Max(act.Kinds[0]) != 0 {
		t.Errorf("an absent agent does %v (%v), want zeros", act.Kinds[0], err)
	}
}

// FuzzState gives forged states to the reader: what it accepts it writes again as it was.
func FuzzState(f *testing.F) {
	build, c := mixed(7)
	env := must.Get(build())(f)
	p := newPricer(f, c, env, 1)
	good := must.Get(state.Append(nil, "pricer", p))(f)
	body := statetest.Body(good)
	f.Add(body)
	f.Add(body[:100])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		b := statetest.Forge(good, body)
		if err := state.Load(b, "pricer", p); err != nil {
			statetest.FieldsRead(t, err)
			return
		}
		again, err := state.Append(nil, "pricer", p)
		if err != nil || string(again) != string(b) {
			t.Errorf("%x comes back as %x (%v)", b, again, err)
		}
		if err := p.Estimate(begun(t, newQuadratic(plain(3, 2, 1, 3)), 1)); err != nil {
			return // a forged moment may overflow
		}
		p.Move()
	})
}
