package deeprm

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// player steps an environment and holds its last observation and outcome.
type player struct {
	t   testing.TB
	env *Env
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func play(t testing.TB, c Config, seed uint64, options envs.Options) *player {
	t.Helper()
	e := must.Get(New(c))(t)
	p := &player{t, e, envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())}
	must.Do(t, e.Reset(seed, options, p.obs))
	return p
}

// do chooses places, or moves on with −1, and returns the last reward.
func (p *player) do(places ...int) float32 {
	p.t.Helper()
	for _, a := range places {
		if a < 0 {
			a = p.env.c.Visible
		}
		p.act.Kinds[0][0] = float32(a)
		if err := p.env.Step(p.act, p.obs, p.out); err != nil {
			p.t.Fatal(err)
		}
	}
	return p.out.Rewards[0][0]
}

// ended reports whether the last step ended the episode.
func (p *player) ended() bool { return p.out.Terminated || p.out.Truncated }

// given is a small cluster with jobs that a test names: 4 slots of two resources, 5 time steps, 2 places.
func given(jobs ...Job) Config {
	c := Default()
	c.Slots, c.Horizon, c.Visible, c.Backlog, c.Steps, c.Observation = 4, 5, 2, 2, 6, Compact
	c.Short, c.Long, c.Dominant, c.Other = Between{1, 2}, Between{3, 4}, Between{2, 4}, Between{1, 1}
	c.Jobs = [][]Job{jobs}
	return c
}
