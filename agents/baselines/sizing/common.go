package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/state"
)

// world is what a baseline knows of its environment.
type world struct {
	spec *envs.Spec
	rng  sizing.Range
	n    int // functions
}

func newWorld(name string, env envs.Env) (*sizing.Env, world, error) {
	e, ok := envs.As[*sizing.Env](env)
	if !ok {
		return nil, world{}, elsewhere(name, env)
	}
	s := e.Spec()
	return e, world{s, e.Range(), s.Kinds[0].Agents}, nil
}

// elsewhere is the error of a baseline in an environment for which it is not made.
func elsewhere(name string, env envs.Env) error {
	if m, ok := envs.As[*sizing.Many](env); ok {
		return fmt.Errorf("%s: acts in one workflow, but env.workflows puts %d side by side: compare on each of them, such as "+
			"by --set env.workflows=[] --set env.workflow=%s", name, len(m.Workflows()), m.Workflows()[0].Config().Workflow)
	}
	return fmt.Errorf("%s: acts in %s only, not in %s", name, strings.Join(sizing.IDs(), " and "), env.Spec().ID)
}

// action returns function f's part of an action.
func (w *world) action(a *envs.Action, f int) []float32 {
	k := w.rng.Components()
	return a.Kinds[0][f*k : (f+1)*k]
}

// feature returns the index of a feature in a function's observation, -1 where the environment does not show it.
func (w *world) feature(name string) int { return slices.Index(w.spec.Kinds[0].Features, name) }

// seen returns function f's part of an observation.
func (w *world) seen(o *envs.Observation, f int) []float32 {
	k := w.spec.Kinds[0].Observation.Width()
	return o.Kinds[0].Values[f*k : (f+1)*k]
}

// resources decodes a configuration of numbers in [0, 1]; a workflow without concurrency limits uses the first three.
func (w *world) resources(key string, a []float64) (sizing.Resources, error) {
	k := w.rng.Components()
	if len(a) < k || len(a) > 4 {
		return sizing.Resources{}, fmt.Errorf("%s has %d numbers, want %d: cpu, memory, replicas, concurrency", key, len(a),
			k)
	}
	var x [4]float32
	for i, v := range a[:k] {
		x[i] = float32(v)
	}
	return w.rng.Decode(x[:k]), nil
}

// checkShares reports numbers outside [0, 1].
func checkShares(key string, a []float64) error {
	if len(a) < 3 || len(a) > 4 {
		return bounds.Errorf(key, "has %d numbers, want 4: cpu, memory, replicas, concurrency (3 without concurrency)",
			len(a))
	}
	return nil
}

// middle is the middle of every range: the untuned configuration.
func middle() []float64 { return []float64{0.5, 0.5, 0.5, 0.5} }

// FixedConfig configures [Fixed].
type FixedConfig struct {
	// Configuration is every function's configuration as numbers in [0, 1]: cpu, memory, replicas, concurrency. The
	// default is the middle of each range: for the machine-learning workflows 1125 mC, 1152 MB, 4 replicas and 5
	// requests in each.
	Configuration []float64 `yaml:"configuration" json:"configuration" range:"[0,1]"`
}

// DefaultFixed returns the middle of every range.
func DefaultFixed() FixedConfig { return FixedConfig{Configuration: middle()} }

// Validate reports the first wrong number.
func (c *FixedConfig) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	return checkShares("configuration", c.Configuration)
}

// Fixed always holds one configuration. It has no state.
type Fixed struct {
	kept.Policy
	world
	config FixedConfig
	row    []float32
}

// NewFixed returns a policy for environments such as env.
func NewFixed(c FixedConfig, env envs.Env) (*Fixed, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Fixed{config: c}
	p.Policy = kept.As("fixed", p)
	var err error
	if _, p.world, err = newWorld("fixed", env); err != nil {
		return nil, err
	}
	if _, err := p.resources("configuration", c.Configuration); err != nil {
		return nil, err
	}
	for _, x := range c.Configuration[:p.rng.Components()] {
		p.row = append(p.row, float32(x))
	}
	return p, nil
}

// Act implements [envs.Policy].
func (p *Fixed) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	for f := range p.n {
		copy(p.action(act, f), p.row)
	}
	return nil
}

// OfEach makes the constructor of a policy for one workflow that of a policy for several side by side, too: each
// workflow then has its own.
func OfEach[C any, P envs.Policy](build func(C, envs.Env) (P, error)) func(C, envs.Env) (envs.Policy, error) {
	return ofEach(build, func(p P) envs.Policy { return p }, func(m *sizing.Many, each []envs.Policy) envs.Policy {
		s := &sidePolicy{many: m, view: sizing.NewView(), each: each}
		s.Policy = kept.As(each[0].Name(), s)
		return s
	})
}

// PlansOfEach is OfEach for planners.
func PlansOfEach[C any, P envs.Planner](build func(C, envs.Env) (P, error)) func(C, envs.Env) (envs.Planner, error) {
	return ofEach(build, func(p P) envs.Planner { return p }, func(_ *sizing.Many, each []envs.Planner) envs.Planner {
		return &sidePlanner{view: sizing.NewView(), each: each}
	})
}

// ofEach builds one P, or one for each of several workflows, which whole makes one of; as is P as an interface.
func ofEach[C, P, I any](build func(C, envs.Env) (P, error), as func(P) I,
	whole func(*sizing.Many, []I) I) func(C, envs.Env) (I, error) {
	return func(c C, env envs.Env) (none I, err error) {
		m, several := envs.As[*sizing.Many](env)
		if !several {
			p, err := build(c, env)
			if err != nil {
				return none, err // not p: an interface around a nil pointer would not be nil
			}
			return as(p), nil
		}
		var each []I
		for _, e := range m.Workflows() {
			p, err := build(c, e)
			if err != nil {
				return none, err
			}
			each = append(each, as(p))
		}
		return whole(m, each), nil
	}
}

// sidePolicy acts in several workflows side by side by a policy of each.
type sidePolicy struct {
	kept.Policy
	many *sizing.Many
	view *sizing.View
	each []envs.Policy
}

// Reset implements [envs.Policy].
func (s *sidePolicy) Reset(seed uint64) error {
	for i, p := range s.each {
		if err := p.Reset(sizing.SeedOf(seed, i)); err != nil {
			return err
		}
	}
	return nil
}

// Act implements [envs.Policy].
func (s *sidePolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	for i, p := range s.each {
		s.many.Look(i, obs, act, s.view)
		if err := p.Act(&s.view.Observation, &s.view.Action, deterministic); err != nil {
			return err
		}
	}
	return nil
}

// State implements [state.Stater].
func (s *sidePolicy) State(c *state.Codec) {
	for _, p := range s.each {
		state.Member(c, p)
	}
}

// sidePlanner plans for several workflows side by side by a planner of each.
type sidePlanner struct {
	view *sizing.View
	each []envs.Planner
}

// Name implements [envs.Planner].
func (s *sidePlanner) Name() string { return s.each[0].Name() }

// Reset implements [envs.Planner].
func (s *sidePlanner) Reset(seed uint64) error {
	for i, p := range s.each {
		if err := p.Reset(sizing.SeedOf(seed, i)); err != nil {
			return err
		}
	}
	return nil
}

// Plan implements [envs.Planner].
func (s *sidePlanner) Plan(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	m, ok := envs.As[*sizing.Many](env)
	if !ok || len(m.Workflows()) != len(s.each) {
		return elsewhere(s.Name(), env)
	}
	for i, p := range s.each {
		m.Look(i, obs, act, s.view)
		if err := p.Plan(m.Workflows()[i], &s.view.Observation, &s.view.Action); err != nil {
			return err
		}
	}
	return nil
}
