package reinforce

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// twins judge what was chosen by trying it: on one copy of the environment the choice is made, on another what a rule would do, and on both the
// rule goes on for some time. Both meet the same future, so that what they have in common, which is nearly all, cancels:
//
//	A(s, a) = G(s, a) − G(s, rule(s)),   G discounted rewards under the same draws
//
// That is an estimate of Q(s, a) − V(s) of the rule (the vine of Schulman et al., 2015, § 5.2, with common random numbers), and never of what the
// learner itself would do later. It is an average over futures that nobody knows when the gradient is: no choice is made by what will come.
//
// A nil twins judges nothing.
type twins struct {
	micros   int64
	discount choice.Discount
	scale    float64
	seeds    rng.Key
	pairs    []twin
	gain     []float32 // A of the last choices, by copy
	errs     []error
}

// twin is where a copy's choices are tried.
type twin struct {
	world envs.Env
	rule  agents.Teacher
	act   *envs.Action // in the world
	other *envs.Action // what the rule would do
	obs   *envs.Observation
	out   *envs.Outcome
}

func newTwins(c *Config, ctx *agents.Context) (*twins, error) {
	count := 0
	for _, k := range ctx.Spec.Kinds {
		count += k.Agents
	}
	if count != 1 {
		return nil, fmt.Errorf("baseline: %s needs an environment of one agent, %s has %d", Twin, ctx.Spec.ID, count)
	}
	if ctx.Teacher == nil || ctx.NewEnv == nil {
		return nil, errors.New("there is no rule and no copy of the environment to be had here")
	}
	t := &twins{
		micros: int64(c.Twin.Seconds * 1e6), discount: choice.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: c.RewardScale,
		seeds: rng.New(ctx.Seed, "reinforce: twins"), pairs: make([]twin, ctx.Copies), gain: make([]float32, ctx.Copies), errs: make([]error, ctx.Copies),
	}
	for i := range t.pairs {
		rule, err := ctx.Teacher(c.Twin.Policy)
		if err != nil {
			return nil, fmt.Errorf("twin.policy: %w", err)
		}
		world, err := ctx.NewEnv()
		if err != nil {
			return nil, err
		}
		s := world.Spec()
		t.pairs[i] = twin{world, rule, envs.NewAction(s), envs.NewAction(s), envs.NewObservation(s), envs.NewOutcome(s)}
	}
	return t, nil
}

// judge writes what each copy's choice in v.Act gains, side by side; a taught one is not asked about. steps tells one call from another.
func (t *twins) judge(v *envs.Vector, steps int64, teachers *school) error {
	if t == nil {
		return nil
	}
	clear(t.gain)
	clear(t.errs)
	var all sync.WaitGroup
	for i := range t.pairs {
		if teachers.taught(i) || v.Resets(i) {
			continue
		}
		all.Go(func() {
			seed := t.seeds.With(uint64(steps)).With(uint64(i)).Uint64()
			t.gain[i], t.errs[i] = t.pairs[i].gain(t, v.Env(i), v.Obs.Env(i), v.Act.Env(i), seed)
		})
	}
	all.Wait()
	for i, err := range t.errs {
		if err != nil {
			return fmt.Errorf("environment %d: twins under %s: %w", i, t.pairs[i].rule.Name(), err)
		}
	}
	return nil
}

// of is what copy i's last choice gained.
func (t *twins) of(i int) float32 {
	if t == nil {
		return 0
	}
	return t.gain[i]
}

func (p *twin) gain(t *twins, env envs.Env, obs *envs.Observation, act *envs.Action, seed uint64) (float32, error) {
	if err := p.rule.Reset(seed); err != nil {
		return 0, err
	}
	if err := p.rule.Show(env, obs, p.other); err != nil {
		return 0, err
	}
	if slices.Equal(p.other.Kinds[0], act.Kinds[0]) {
		return 0, nil
	}
	chosen, err := p.follow(t, env, act, seed)
	if err != nil {
		return 0, err
	}
	other, err := p.follow(t, env, p.other, seed)
	return float32(t.scale * (chosen - other)), err
}

// follow does first in a copy of env, lets the rule go on, and returns the discounted rewards of the time.
func (p *twin) follow(t *twins, env envs.Env, first *envs.Action, seed uint64) (sum float64, err error) {
	if err := errors.Join(p.world.CopyFrom(env), p.rule.Reset(seed)); err != nil {
		return 0, err
	}
	copy(p.act.Kinds[0], first.Kinds[0])
	weight := 1.0
	for left := t.micros; left > 0; {
		if err := p.world.Step(p.act, p.obs, p.out); err != nil {
			return 0, err
		}
		sum += weight * float64(p.out.Rewards[0][0])
		weight *= t.discount.Of(p.out.Terminated, p.out.Elapsed)
		if p.out.Terminated || p.out.Truncated {
			break
		}
		left -= p.out.Elapsed
		if err := p.rule.Show(p.world, p.obs, p.act); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
