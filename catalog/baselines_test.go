package catalog_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// random plays in every environment: its actions are legal, follow from the seed and from what was saved, and drawing
// them does not allocate.
func TestRandomPlaysEverywhere(t *testing.T) {
	c := catalog.Default()
	r := must.Get(c.Baseline("random"))(t)
	for _, row := range c.Envs {
		t.Run(row.ID, func(t *testing.T) {
			if !r.In(row.ID) {
				t.Fatal("random is not made for it")
			}
			env := must.Get(row.New(row.Config(), workload.Default()))(t)
			first, second := playRandom(t, r, env, 7), playRandom(t, r, env, 7)
			if !slices.Equal(first, second) {
				t.Error("the same seed gives other actions")
			}
			if len(first) > 5 && slices.Equal(first, playRandom(t, r, env, 8)) {
				t.Error("another seed gives the same actions")
			}
		})
	}
}

// playRandom returns the actions of at most 40 steps of an episode. In the middle the policy is replaced by one that was
// restored from it.
func playRandom(t *testing.T, r catalog.Baseline, env envs.Env, seed uint64) (actions []float32) {
	t.Helper()
	build := func() envs.Policy {
		a := must.Get(r.New(r.Config(), env))(t)
		return a.Policy
	}
	p, s := build(), env.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, env.Reset(seed, nil, obs))
	must.Do(t, p.Reset(seed))
	for k := 0; k < 40 && !out.Terminated && !out.Truncated; k++ {
		if k == 5 {
			saved := must.Get(p.AppendBinary(nil))(t)
			p = build()
			must.Do(t, p.UnmarshalBinary(saved))
			again, err := p.AppendBinary(nil)
			if err != nil || !bytes.Equal(saved, again) {
				t.Errorf("what was restored is saved as something else (%v)", err)
			}
		}
		must.Do(t, p.Act(obs, act, true))
		for _, a := range act.Kinds {
			actions = append(actions, a...)
		}
		must.Do(t, env.Step(act, obs, out))
	}
	if !out.Terminated && !out.Truncated {
		if n := testing.AllocsPerRun(20, func() {
			must.Do(t, p.Act(obs, act, true))
		}); n != 0 {
			t.Errorf("an action allocates %g times", n)
		}
	}
	return actions
}
