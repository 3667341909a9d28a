package pricing

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// movesConfig is a world small enough to be crowded.
func movesConfig() Config {
	c := Default()
	c.Demand.Source, c.Windows, c.VGPUs, c.Demand.Mean = Generated, 2, 40, 36
	c.Acts, c.Rewards = ActsMoves, OwnRewards
	return c
}

// TestOwnRewards: functions' own costs add up to the slot's cost, whatever is charged; some slots have switches.
func TestOwnRewards(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"default": func(*Config) {}, "all deployed": func(c *Config) { c.Costs.Deployed = CountAll },
		"all switches": func(c *Config) { c.Costs.Switches = CountAll },
	} {
		t.Run(name, func(t *testing.T) {
			c := movesConfig()
			change(&c)
			e := must.Get(NewSlots(c, workload.Config{}, nil))(t)
			switched := 0.0
			play(t, e, sampled(t, e), func(out *envs.Outcome) {
				sum := 0.0
				for _, r := range out.Rewards[0] {
					sum -= float64(r)
				}
				want := out.Info[3] + out.Info[4] + out.Info[5] // gpu, switch, sla
				switched += out.Info[4]
				if math.Abs(sum-want) > 1e-3*(1+want) {
					t.Fatalf("own costs add up to %g, the slot costs %g", sum, want)
				}
			})
			if switched == 0 {
				t.Error("no switch was charged: the test tests less than it says")
			}
		})
	}
}

// TestOwnSwitches: a function pays for what changes to it, on any vGPU that is charged, also where it gives others away;
// vGPUs that fail at the slot's end were still there.
func TestOwnSwitches(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"keep-alive": func(c *Config) { c.Baselines = []int{1, 4, 4} },
		"elastic":    func(c *Config) { c.Pool = Elastic },
		"fixed":      func(c *Config) { c.Pool = Fixed },
		"all":        func(c *Config) { c.Costs.Switches = CountAll },
		"failures": func(c *Config) {
			c.Pool, c.Market.Failures = Elastic, Failures{Share: 0.5, Between: 0.1, Repair: 0.1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := movesConfig()
			c.Acts, c.Costs.GPU = ActsCounts, 1
			change(&c)
			e := must.Get(NewSlots(c, workload.Config{}, nil))(t)
			switched := 0.0
			play(t, e, sampled(t, e), func(out *envs.Outcome) {
				switched += out.Info[4]
				for f, r := range out.Rewards[0] {
					if whole := math.Round(float64(r)); math.Abs(float64(r)-whole) > 1e-6 {
						t.Fatalf("function %d is rewarded with %g: it pays a part of others' costs", f, r)
					}
				}
			})
			if switched == 0 {
				t.Error("no switch was charged: the test tests less than it says")
			}
		})
	}
}

// TestMoves: ARMS by moves costs about what ARMS by counts does under the same workload; only what moves cannot hold is
// different.
func TestMoves(t *testing.T) {
	cost := map[string]float64{}
	for _, acts := range []string{ActsCounts, ActsMoves} {
		c := movesConfig()
		c.Acts, c.Windows = acts, 10
		e := must.Get(NewSlots(c, workload.Config{}, nil))(t)
		arms := must.Get(NewARMS(c.ARMS, &e.cfg))(t)
		var p envs.Policy = arms
		if acts == ActsMoves {
			p = NewMover(arms, e)
		}
		play(t, e, p, func(out *envs.Outcome) { cost[acts] += out.Info[3] + out.Info[4] + out.Info[5] })
	}
	if a, b := cost[ActsCounts], cost[ActsMoves]; math.Abs(a-b) > 0.02*a {
		t.Errorf("ARMS costs %g by counts and %g by moves, want within 2 %%", a, b)
	}
	t.Log(cost)
}

// TestMovesRefused: the pricing environment has no use for moves.
func TestMovesRefused(t *testing.T) {
	if _, err := New(movesConfig(), workload.Config{}, nil); err == nil {
		t.Error("moves are accepted in the pricing environment")
	}
}

func sampled(t *testing.T, e envs.Env) envs.Policy {
	t.Helper()
	return &randomMoves{}
}

// randomMoves changes by any number.
type randomMoves struct {
	envs.Policy
	n uint64
}

func (p *randomMoves) Reset(uint64) error { return nil }

func (p *randomMoves) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	for f := range act.Kinds[0] {
		p.n = p.n*6364136223846793005 + 1442695040888963407
		act.Kinds[0][f] = float32((p.n >> 33) % Moves)
	}
	return nil
}

// play runs an episode and shows each outcome.
func play(t *testing.T, e envs.Env, p envs.Policy, seen func(*envs.Outcome)) {
	t.Helper()
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	must.Do(t, e.Reset(3, nil, obs))
	must.Do(t, p.Reset(3))
	for !out.Truncated {
		must.Do(t, p.Act(obs, act, true))
		must.Do(t, e.Step(act, obs, out))
		seen(out)
	}
}
