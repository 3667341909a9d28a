package reinforce

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// imitation lets another policy, the teacher, play the first episodes: one teacher for each copy of the environment. A
// nil imitation does nothing.
type imitation struct {
	steps    int64 // episodes that begin before this step are the teacher's
	seeds    rng.Key
	width    int // of one agent's action
	agents   int
	teachers []agents.Teacher
	acts     []*envs.Action
	begun    []bool // by copy: the teacher was reset for the present episode
	teaches  []bool // by copy: the present episode is the teacher's
	episodes []uint64
}

func newImitation(c Imitate, ctx *agents.Context) (*imitation, error) {
	if ctx.Teacher == nil {
		return nil, errors.New("this context makes no teacher")
	}
	n := ctx.NumEnvs
	k := &ctx.Spec.Kinds[0]
	s := &imitation{
		steps: c.Steps, seeds: rng.New(ctx.Seed, "reinforce: teacher"), agents: k.Agents, width: k.Action.Width(),
		begun: make([]bool, n), teaches: make([]bool, n), episodes: make([]uint64, n),
	}
	for range n {
		t, err := ctx.Teacher(c.Policy)
		if err != nil {
			return nil, err
		}
		s.teachers, s.acts = append(s.teachers, t), append(s.acts, envs.NewAction(ctx.Spec))
	}
	return s, nil
}

// act asks the teachers of the episodes that are theirs; steps is the number of environment steps so far.
func (s *imitation) act(v *envs.Vector, steps int64) error {
	if s == nil {
		return nil
	}
	teaching := false
	for i, t := range s.teachers {
		if !s.begun[i] {
			s.begun[i], s.teaches[i] = true, steps < s.steps
			if err := t.Reset(s.seeds.With(uint64(i)).With(s.episodes[i]).Uint64()); err != nil {
				return fmt.Errorf("%s: %w", t.Name(), err)
			}
			s.episodes[i]++
		}
		teaching = teaching || s.teaches[i]
	}
	if !teaching {
		return nil
	}
	return s.show(v)
}

// show asks the teachers in parallel: each has its own environment.
func (s *imitation) show(v *envs.Vector) error {
	var all sync.WaitGroup
	errs := make([]error, len(s.teachers))
	for i, t := range s.teachers {
		if s.teaches[i] {
			all.Go(func() { errs[i] = t.Show(v.Env(i), v.Obs.Env(i), s.acts[i]) })
		}
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("environment %d: %s: %w", i, s.teachers[i].Name(), err)
		}
	}
	return nil
}

// action is what the teacher does in a row; nil where the learner chooses itself.
func (s *imitation) action(row int) []float32 {
	if s == nil || !s.teaches[row/s.agents] {
		return nil
	}
	j := row % s.agents
	return s.acts[row/s.agents].Kinds[0][j*s.width : (j+1)*s.width]
}

// active reports whether copy i's episode is the teacher's.
func (s *imitation) active(i int) bool { return s != nil && s.teaches[i] }

// end ends copy i's episode.
func (s *imitation) end(i int) {
	if s != nil {
		s.begun[i] = false
	}
}

// State implements [state.Stater].
func (s *imitation) State(c *state.Codec) {
	state.Fixed(c, s.begun)
	state.Fixed(c, s.teaches)
	state.Fixed(c, s.episodes)
	for _, t := range s.teachers {
		state.Member(c, teacherState{t})
	}
}

// teacherState lets a teacher's own methods save it.
type teacherState struct{ agents.Teacher }

// CopyFrom fails: learners are saved and loaded, never copied.
func (t teacherState) CopyFrom(teacherState) error {
	return fmt.Errorf("%s: a teacher cannot be copied", t.Name())
}

// counterfactual is the baseline that tries each choice against a rule's choice. One copy of the environment takes the
// learner's action, another takes the rule's action, and the rule then acts on both for some time. Both copies meet the
// same future, so most of the noise cancels:
//
//	A(s, a) = G(s, a) − G(s, rule(s)),   G: discounted rewards under the same draws
//
// This estimates Q(s, a) − V(s) of the rule (the vine of Schulman et al., 2015, § 5.2, with common random numbers), not
// of the learner's own later policy. The gradient averages over futures that the policy cannot see when it chooses.
//
// A nil counterfactual does nothing.
type counterfactual struct {
	horizon    int64 // microseconds of the environment
	discount   learning.Discount
	scale      float64
	seeds      rng.Key
	trials     []trial
	advantages []float32 // of the last choices, by copy
	errs       []error
}

// trial is what one copy's choices are tried with.
type trial struct {
	env    envs.Env // made equal to the copy before each rollout
	rule   agents.Teacher
	act    *envs.Action
	ruleDo *envs.Action
	obs    *envs.Observation
	out    *envs.Outcome
}

func newCounterfactual(c *Config, ctx *agents.Context) (*counterfactual, error) {
	count := 0
	for _, k := range ctx.Spec.Kinds {
		count += k.Agents
	}
	if count != 1 {
		return nil, fmt.Errorf("baseline: %s needs an environment of one agent, %s has %d",
			c.Baseline, ctx.Spec.ID, count)
	}
	if ctx.Teacher == nil || ctx.NewEnv == nil {
		return nil, fmt.Errorf("baseline: %s needs a rule and copies of the environment, this context makes none",
			c.Baseline)
	}
	n := ctx.NumEnvs
	t := &counterfactual{
		horizon:  int64(c.Twin.Seconds * 1e6),
		discount: learning.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: c.RewardScale,
		seeds:  rng.New(ctx.Seed, "reinforce: twins"), // the stream's name decides its draws: it stays
		trials: make([]trial, n), advantages: make([]float32, n), errs: make([]error, n),
	}
	for i := range t.trials {
		rule, err := ctx.Teacher(c.Twin.Policy)
		if err != nil {
			return nil, fmt.Errorf("twin.policy: %w", err)
		}
		env, err := ctx.NewEnv()
		if err != nil {
			return nil, err
		}
		s := env.Spec()
		t.trials[i] = trial{
			env: env, rule: rule, act: envs.NewAction(s), ruleDo: envs.NewAction(s),
			obs: envs.NewObservation(s), out: envs.NewOutcome(s),
		}
	}
	return t, nil
}

// judge writes the advantage of each copy's choice in v.Act, in parallel. Copies that imitate or wait for their reset
// are left out. The rule's draws follow from when it is, and from the copies' numbers, from first on.
func (t *counterfactual) judge(v *envs.Vector, when []uint64, first int, teacher *imitation) error {
	if t == nil {
		return nil
	}
	clear(t.advantages)
	clear(t.errs)
	key := t.seeds
	for _, n := range when {
		key = key.With(n)
	}
	var all sync.WaitGroup
	for i := range t.trials {
		if teacher.active(i) || v.Resets(i) {
			continue
		}
		all.Go(func() {
			seed := key.With(uint64(first + i)).Uint64()
			t.advantages[i], t.errs[i] = t.advantage(&t.trials[i], v.Env(i), v.Obs.Env(i), v.Act.Env(i), seed)
		})
	}
	all.Wait()
	for i, err := range t.errs {
		if err != nil {
			return fmt.Errorf("environment %d: counterfactual under %s: %w", i, t.trials[i].rule.Name(), err)
		}
	}
	return nil
}

// of is the advantage of copy i's last choice.
func (t *counterfactual) of(i int) float32 {
	if t == nil {
		return 0
	}
	return t.advantages[i]
}

// advantage is A of one copy's action.
func (t *counterfactual) advantage(
	p *trial, env envs.Env, obs *envs.Observation, act *envs.Action, seed uint64,
) (float32, error) {
	if err := p.rule.Reset(seed); err != nil {
		return 0, err
	}
	if err := p.rule.Show(env, obs, p.ruleDo); err != nil {
		return 0, err
	}
	if slices.Equal(p.ruleDo.Kinds[0], act.Kinds[0]) {
		return 0, nil
	}
	chosen, err := t.rollout(p, env, act, seed)
	if err != nil {
		return 0, err
	}
	other, err := t.rollout(p, env, p.ruleDo, seed)
	return float32(t.scale * (chosen - other)), err
}

// rollout is G: it takes first in a copy of env, lets the rule act until the horizon, and sums discounted rewards.
func (t *counterfactual) rollout(p *trial, env envs.Env, first *envs.Action, seed uint64) (sum float64, err error) {
	if err := errors.Join(p.env.CopyFrom(env), p.rule.Reset(seed)); err != nil {
		return 0, err
	}
	copy(p.act.Kinds[0], first.Kinds[0])
	weight := 1.0
	for left := t.horizon; left > 0; {
		if err := p.env.Step(p.act, p.obs, p.out); err != nil {
			return 0, err
		}
		sum += weight * float64(p.out.Rewards[0][0])
		weight *= t.discount.Of(p.out.Terminated, p.out.Elapsed)
		if p.out.Terminated || p.out.Truncated {
			break
		}
		left -= p.out.Elapsed
		if err := p.rule.Show(p.env, p.obs, p.act); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
