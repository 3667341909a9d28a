package placement

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// LookaheadConfig configures [Lookahead].
type LookaheadConfig struct {
	// Seconds is how long each choice is simulated.
	Seconds float64 `yaml:"seconds" json:"seconds" range:"(0,3600]"`
	// Futures is the number of imagined futures for each choice, the same ones for all choices; their returns are
	// summed. 0 simulates the true future.
	Futures int `yaml:"futures" json:"futures" range:"[0,2^16]"`
}

// DefaultLookahead simulates twenty seconds. Most of what a choice delays arrives and ends within this time.
func DefaultLookahead() LookaheadConfig { return LookaheadConfig{Seconds: 20} }

// Validate reports the first wrong field.
func (c *LookaheadConfig) Validate() error { return bounds.Check(c) }

// Lookahead tries several rules' next choices, each on a copy of the environment in which SJF then continues, and takes
// the one with the largest return (a rollout policy: Tesauro and Galperin, 1996). A copy shows future arrivals and
// execution times, so Lookahead is no policy: it is an upper bound for its rules, and a teacher for imitation. With
// imagined futures it does not see later arrivals ([placement.Env.Imagine]).
type Lookahead struct {
	kept.Saved
	c     LookaheadConfig
	rules []envs.Policy // the first one continues after a choice
	world *placement.Env
	obs   *envs.Observation
	act   *envs.Action
	out   *envs.Outcome
	seed  uint64 // of the imagined futures
	asked uint64 // choices since Reset
	tried [][3]float32
}

// NewLookahead returns a planner for environments such as env.
func NewLookahead(c LookaheadConfig, env envs.Env) (*Lookahead, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	e, ok := envs.As[*placement.Env](env)
	if !ok {
		return nil, fmt.Errorf("lookahead: acts in %s only, not in %s", placement.ID, env.Spec().ID)
	}
	world, err := e.System().Environment()
	if err != nil {
		return nil, err
	}
	l := &Lookahead{c: c, world: world, obs: envs.NewObservation(env.Spec()), act: envs.NewAction(env.Spec()),
		out: envs.NewOutcome(env.Spec())}
	l.Saved = kept.Save("lookahead", l)
	for _, amount := range []string{Nominal, Smallest, Largest, Spread} {
		p, err := NewSJF(SJFConfig{Amount: amount}, env)
		if err != nil {
			return nil, err
		}
		l.rules = append(l.rules, p)
	}
	p, err := NewPacker(DefaultPacker(), env)
	if err != nil {
		return nil, err
	}
	l.rules = append(l.rules, p)
	return l, nil
}

// Reset implements [envs.Planner].
func (l *Lookahead) Reset(seed uint64) error {
	l.seed, l.asked = seed, 0
	return nil
}

// State implements [state.Stater].
func (l *Lookahead) State(c *state.Codec) {
	state.Value(c, &l.seed)
	state.Value(c, &l.asked)
}

// Plan implements [envs.Planner].
func (l *Lookahead) Plan(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	now, ok := envs.As[*placement.Env](env)
	if !ok {
		return fmt.Errorf("lookahead: acts in %s only, not in %s", placement.ID, env.Spec().ID)
	}
	l.tried, l.asked = l.tried[:0], l.asked+1
	best, most := [3]float32{}, math.Inf(-1)
	for _, rule := range l.rules {
		if err := rule.Act(obs, l.act, true); err != nil {
			return err
		}
		if a := [3]float32(l.act.Kinds[0]); !slices.Contains(l.tried, a) {
			l.tried = append(l.tried, a)
		}
	}
	if len(l.tried) == 1 {
		copy(act.Kinds[0], l.tried[0][:])
		return nil
	}
	for _, a := range l.tried {
		var earned float64
		for k := range max(1, l.c.Futures) {
			sum, err := l.follow(now, a, k)
			if err != nil {
				return err
			}
			earned += sum
		}
		if earned > most {
			best, most = a, earned
		}
	}
	copy(act.Kinds[0], best[:])
	return nil
}

// follow applies an action to a copy, lets the first rule continue in one future, and returns the sum of rewards.
func (l *Lookahead) follow(now *placement.Env, a [3]float32, future int) (earned float64, err error) {
	if err := l.world.CopyFrom(now); err != nil {
		return 0, err
	}
	if l.c.Futures > 0 {
		l.world.Imagine(rng.New(l.seed, "lookahead").With(l.asked).With(uint64(future)).Uint64())
	}
	copy(l.act.Kinds[0], a[:])
	for left := int64(l.c.Seconds * 1e6); left > 0; {
		if err := l.world.Step(l.act, l.obs, l.out); err != nil {
			return 0, err
		}
		earned += float64(l.out.Rewards[0][0])
		left -= l.out.Elapsed
		if l.out.Terminated || l.out.Truncated {
			break
		}
		if err := l.rules[0].Act(l.obs, l.act, true); err != nil {
			return 0, err
		}
	}
	return earned, nil
}
