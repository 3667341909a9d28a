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
	"github.com/stoker-rl/stoker/internal/must"
)

// Lookahead earns more than the rules, and does not change the environment.
func TestLookahead(t *testing.T) {
	c := placement.Default()
	c.Seconds, c.Load = 10, 1.3
	env := must.Get(placement.New(c, workload.Default()))(t)
	ahead := must.Get(NewLookahead(DefaultLookahead(), env))(t)
	sjf := must.Get(NewSJF(DefaultSJF(), env))(t)
	r := rollout.NewRunner(env)
	var sum [2]float64
	for seed := range uint64(2) {
		for i, a := range []rollout.Actor{{Planner: ahead}, {Policy: sjf}} {
			e := must.Get(r.Episode(a, seed))(t)
			sum[i] += e.Return
		}
	}
	if sum[0] < 0.95*sum[1] {
		t.Errorf("looking ahead returns %.1f, SJF %.1f: want at least 5 %% more", sum[0], sum[1])
	}
	obs, act, out := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec()), envs.NewOutcome(env.Spec())
	must.Do(t, env.Reset(1, nil, obs))
	for range 60 {
		before := must.Get(env.AppendBinary(nil))(t)
		must.Do(t, ahead.Plan(env, obs, act))
		if after, err := env.AppendBinary(nil); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("planning changed the environment (%v)", err)
		}
		must.Do(t, env.Step(act, obs, out))
	}
}

func TestLookaheadRefuses(t *testing.T) {
	pole := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
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
	env := must.Get(placement.New(c, workload.Default()))(t)
	ahead := must.Get(NewLookahead(LookaheadConfig{Seconds: 10, Futures: 2}, env))(t)
	obs, act := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec())
	out := envs.NewOutcome(env.Spec())
	must.Do(t, errors.Join(env.Reset(1, nil, obs), ahead.Reset(5)))
	for len(ahead.tried) < 2 { // until the rules differ
		must.Do(t, errors.Join(ahead.Plan(env, obs, act), env.Step(act, obs, out)))
	}
	state, err := ahead.AppendBinary(nil)
	must.Do(t, errors.Join(err, ahead.UnmarshalBinary(state)))
	if err := ahead.UnmarshalBinary(state[1:]); err == nil || !strings.Contains(err.Error(), "lookahead: saved state of") {
		t.Errorf("got %v", err)
	}
}
