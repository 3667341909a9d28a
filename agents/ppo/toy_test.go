package ppo

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// crew is an environment with two kinds of agents. Each of two pickers sees two sides and makes two choices of three; the
// second must differ from the first. A choice pays 1 where it is the one that its side names and may be made. The second
// picker is away in every other step. A tuner sees a level and gives two numbers, the second a whole one: it pays minus
// the distances to the level and to its whole part.
type crew struct {
	choicetest.Moment
	spec *envs.Spec
}

const crewLength = 6

func newCrew() *crew {
	return &crew{spec: &envs.Spec{
		ID: "test/Crew-v1", Doc: "Pick and tune.", MaxSteps: crewLength,
		Kinds: []envs.Kind{
			{
				Name: "picker", Agents: 2, Observation: envs.NewBox(3, -1, 1), Action: envs.MultiDiscrete{N: []int{3, 3}},
				MaskAfter: func(o *envs.KindObservation, agent int, partial []float32, mask []bool) error {
					for i := range mask {
						mask[i] = len(partial) == 0 || float32(i) != partial[0]
					}
					return nil
				},
			},
			{
				Name: "tuner", Agents: 1, Observation: envs.NewBox(1, 0, 4),
				Action: envs.Box{Low: []float32{0, 0}, High: []float32{4, 4}, Integer: []bool{false, true}},
			},
		},
	}}
}

// wanted is the first choice that pays in the present step, and the level.
func (c *crew) wanted(agent int) (choice int, level float64) {
	k := rng.New(c.Seed, "crew").With(uint64(c.At))
	return k.With(uint64(agent)).IntN(3), 4 * k.With(9).Float64()
}

func (c *crew) here(agent int) bool { return agent == 0 || c.At%2 == 0 }

// Spec implements [envs.Env].
func (c *crew) Spec() *envs.Spec { return c.spec }

// Reset implements [envs.Env].
func (c *crew) Reset(seed uint64, _ envs.Options, obs *envs.Observation) error {
	c.Moment = choicetest.Moment{Seed: seed}
	c.see(obs)
	return nil
}

func (c *crew) see(obs *envs.Observation) {
	o := &obs.Kinds[0]
	for j := range 2 {
		o.Active[j] = c.here(j)
		clear(o.Values[3*j : 3*j+3])
		for i := range 6 {
			o.Mask[6*j+i] = o.Active[j]
		}
		if want, _ := c.wanted(j); o.Active[j] {
			o.Values[3*j+want] = 1
		}
	}
	_, level := c.wanted(0)
	obs.Kinds[1].Active[0], obs.Kinds[1].Values[0] = true, float32(level)
}

// Step implements [envs.Env].
func (c *crew) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := envs.CheckAction(c.spec, func(kind, agent int) bool { return kind == 1 || c.here(agent) }, act); err != nil {
		return err
	}
	for j := range 2 {
		out.Rewards[0][j] = 0
		if !c.here(j) {
			continue
		}
		first, second := act.Kinds[0][2*j], act.Kinds[0][2*j+1]
		if first == second {
			return fmt.Errorf("crew: picker %d chose %g twice", j, first)
		}
		want, _ := c.wanted(j)
		if int(first) == want {
			out.Rewards[0][j] += 1
		}
		if int(second) == (want+1)%3 {
			out.Rewards[0][j] += 1
		}
	}
	_, level := c.wanted(0)
	a, b := float64(act.Kinds[1][0])-level, float64(act.Kinds[1][1])-float64(int(level+0.5))
	out.Rewards[1][0] = float32(-(a*a + b*b))
	c.At++
	out.Terminated, out.Truncated, out.Elapsed = false, c.At == crewLength, 1_000_000
	c.see(obs)
	return nil
}

// CopyFrom implements [envs.Env].
func (c *crew) CopyFrom(src envs.Env) error {
	c.Moment = src.(*crew).Moment
	return nil
}

// learn trains with seed 1 on two copies.
func learn(t testing.TB, c Config, steps int64, env func() envs.Env) *Learner {
	t.Helper()
	_, l := choicetest.Train(t, 1, 2, steps, 1, func() (envs.Env, error) { return env(), nil },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	return l.(*Learner)
}

// paid is what a step of the learned policy pays on average, by kind of agents.
func paid(t testing.TB, l agents.Learner, env envs.Env, stochastic bool) []float64 {
	t.Helper()
	p := must.Get(l.Policy())(t)
	sum, steps := make([]float64, len(env.Spec().Kinds)), 0.0
	r := rollout.NewRunner(env)
	r.Stochastic = stochastic
	r.OnStep = func(s rollout.Step) {
		steps++
		for k, rewards := range s.Rewards {
			for _, x := range rewards {
				sum[k] += float64(x)
			}
		}
	}
	for seed := range uint64(100) {
		must.Get(r.Episode(rollout.Actor{Policy: p}, 1<<40+seed))(t)
	}
	for k := range sum {
		sum[k] /= steps
	}
	return sum
}

// quick learns the toys in a second.
func quick() Config {
	c := Default()
	c.Hidden, c.Rate, c.Rollout, c.Anneal, c.Gamma = []int{16}, 5e-3, 64, 0, 0.5
	return c
}
