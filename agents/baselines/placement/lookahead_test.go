package placement

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Lookahead earns more than the rules, and does not change the environment.
func TestLookahead(t *testing.T) {
	c := placement.Default()
	c.Seconds, c.Load = 10, 1.3
	env, err := placement.New(c, workload.Default())
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := NewLookahead(DefaultLookahead(), env)
	if err != nil {
		t.Fatal(err)
	}
	sjf, err := NewSJF(DefaultSJF(), env)
	if err != nil {
		t.Fatal(err)
	}
	r := rollout.NewRunner(env)
	var sum [2]float64
	for seed := range uint64(4) {
		for i, a := range []rollout.Actor{{Planner: ahead}, {Policy: sjf}} {
			e, err := r.Episode(a, seed)
			if err != nil {
				t.Fatal(err)
			}
			sum[i] += e.Return
		}
	}
	if sum[0] < 0.95*sum[1] {
		t.Errorf("looking ahead returns %.1f, SJF %.1f: want at least 5 %% more", sum[0], sum[1])
	}
	obs, act, out := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec()), envs.NewOutcome(env.Spec())
	if err := env.Reset(1, nil, obs); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		before, err := env.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := ahead.Plan(env, obs, act); err != nil {
			t.Fatal(err)
		}
		if after, err := env.AppendBinary(nil); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("planning changed the environment (%v)", err)
		}
		if err := env.Step(act, obs, out); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLookaheadRefuses(t *testing.T) {
	pole, err := classic.NewCartPole(classic.DefaultCartPole())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLookahead(DefaultLookahead(), pole); err == nil ||
		!strings.Contains(err.Error(), "acts in stoker/Placement-v2 only") {
		t.Errorf("got %v", err)
	}
	if _, err := NewLookahead(LookaheadConfig{}, pole); err == nil || !strings.Contains(err.Error(), "seconds is 0") {
		t.Errorf("got %v", err)
	}
}

// A planner with imagined futures can be saved and restored.
func TestLookaheadImagines(t *testing.T) {
	c := placement.Default()
	c.Seconds, c.Load = 10, 1.3
	env, err := placement.New(c, workload.Default())
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := NewLookahead(LookaheadConfig{Seconds: 10, Futures: 2}, env)
	if err != nil {
		t.Fatal(err)
	}
	obs, act := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec())
	out := envs.NewOutcome(env.Spec())
	if err := errors.Join(env.Reset(1, nil, obs), ahead.Reset(5)); err != nil {
		t.Fatal(err)
	}
	for len(ahead.tried) < 2 { // until the rules differ
		if err := errors.Join(ahead.Plan(env, obs, act), env.Step(act, obs, out)); err != nil {
			t.Fatal(err)
		}
	}
	state, err := ahead.AppendBinary(nil)
	if err := errors.Join(err, ahead.UnmarshalBinary(state)); err != nil {
		t.Fatal(err)
	}
	if err := ahead.UnmarshalBinary(state[1:]); err == nil || !strings.Contains(err.Error(), "lookahead: saved state of") {
		t.Errorf("got %v", err)
	}
}
