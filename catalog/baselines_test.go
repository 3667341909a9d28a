package catalog

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// random plays in every environment: its actions are legal, follow from the seed and from what was saved, and drawing
// them does not allocate.
func TestRandomPlaysEverywhere(t *testing.T) {
	c := Default()
	r, err := c.Baseline("random")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range c.Envs {
		t.Run(row.ID, func(t *testing.T) {
			if !r.In(row.ID) {
				t.Fatal("random is not made for it")
			}
			env, err := row.New(row.Config(), workload.Default())
			if err != nil {
				t.Fatal(err)
			}
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
func playRandom(t *testing.T, r Baseline, env envs.Env, seed uint64) (actions []float32) {
	t.Helper()
	build := func() envs.Policy {
		a, err := r.New(r.Config(), env)
		if err != nil {
			t.Fatal(err)
		}
		return a.Policy
	}
	p, s := build(), env.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	if err := env.Reset(seed, nil, obs); err != nil {
		t.Fatal(err)
	}
	if err := p.Reset(seed); err != nil {
		t.Fatal(err)
	}
	for k := 0; k < 40 && !out.Terminated && !out.Truncated; k++ {
		if k == 5 {
			saved, err := p.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			p = build()
			if err := p.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			again, err := p.AppendBinary(nil)
			if err != nil || !bytes.Equal(saved, again) {
				t.Errorf("what was restored is saved as something else (%v)", err)
			}
		}
		if err := p.Act(obs, act, true); err != nil {
			t.Fatal(err)
		}
		for _, a := range act.Kinds {
			actions = append(actions, a...)
		}
		if err := env.Step(act, obs, out); err != nil {
			t.Fatal(err)
		}
	}
	if !out.Terminated && !out.Truncated {
		if n := testing.AllocsPerRun(20, func() {
			if err := p.Act(obs, act, true); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("an action allocates %g times", n)
		}
	}
	return actions
}
