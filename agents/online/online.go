// Package online serves an application with a learner that goes on learning, as FaaSConf does. For a few windows (15) the
// policy proposes a configuration, safe exploration replaces it where its price is out of range, and what comes of it
// goes into the replay (Fig. 4, §4). Every third window begins with a gradient step. Afterwards the cheapest
// configuration that kept the thresholds is held.
//
// [Tuner] is an envs.Tuner around any learner that learns from transitions (agents.Offline). It begins anew with each
// Reset: the learner is made by a function of the seed, with a trained policy's weights and a replay filled from a
// library.
//
// Not here: safe exploration itself (package safe), the learners, and how the result is measured (package eval/search).
package online

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/safe"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Config is the budget of a [Tuner].
type Config struct {
	// Windows is the number of configurations tried; after them the cheapest feasible one is held.
	Windows int `json:"windows" range:"[1,]"`
	// UpdateEvery is the number of windows between two rounds of updates, the first of which comes before the first
	// window. GradientSteps is the number of updates in each; 0 serves without learning.
	UpdateEvery   int `json:"update_every" range:"[1,]"`
	GradientSteps int `json:"gradient_steps" range:"[0,]"`
	// Noise is the standard deviation of normal noise on the policy's configurations, Low and High bound the result.
	Noise float64 `json:"noise" range:"[0,1]"`
	Low   float64 `json:"low" range:"[0,1)"`
	High  float64 `json:"high" range:"(0,1]"`
}

// Default is FaaSConf's: 15 windows, a gradient step every third, the policy's configurations as they are.
func Default() Config {
	return Config{Windows: 15, UpdateEvery: 3, GradientSteps: 1, High: 1}
}

// Validate reports the first wrong number.
func (c *Config) Validate() error {
	if err := bounds.Check(c); err != nil {
		return err
	}
	if c.Low >= c.High {
		return bounds.Errorf("low", "is %g, want less than high, %g", c.Low, c.High)
	}
	return nil
}

// Setup is what a [Tuner] is made of.
type Setup struct {
	// Name labels results.
	Name string
	// Env is the environment served, whose actions are numbers in [0, 1].
	Env envs.Env
	// Learner makes a learner for a seed: trained, its replay filled.
	Learner func(seed uint64) (agents.Offline, error)
	// Guard makes safe exploration for a seed, with its history; nil is without.
	Guard func(seed uint64) (*safe.Guard, error)
}

// Who decided about a configuration.
const (
	ByPolicy = "policy"
	BySafe   = "safe"
	ByBest   = "best" // the search is over: the cheapest feasible is held
)

// Tuner implements [envs.Tuner].
type Tuner struct {
	c      Config
	s      Setup
	pricer safe.Pricer
	loader safe.Loader
	at     struct{ price, violated, success, load int }

	learner agents.Offline
	policy  agents.Policy
	guard   *safe.Guard
	draws   *rng.Stream

	tried    int
	proposed bool // there was a proposal since the last Reset
	by       string
	load     float64 // of the last window
	// The last step, whose next observation the next proposal brings; done is true once its outcome is known. Complete ones
	// wait for the next updates: the policy's statistics of observations do not change in between.
	last    agents.Transition
	done    bool
	waiting []agents.Transition
	// The best configuration so far, as RandomSearch ranks them.
	feasible               bool
	bestPrice, bestSuccess float64
	best                   []float32
}

// New returns a tuner; Reset makes its learner.
func New(c Config, s Setup) (*Tuner, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	spec := s.Env.Spec()
	t := &Tuner{c: c, s: s}
	if len(spec.Kinds) != 1 {
		return nil, fmt.Errorf("online: %s has %d kinds of agents, want one", spec.ID, len(spec.Kinds))
	}
	box, ok := spec.Kinds[0].Action.(envs.Box)
	if !ok || slices.ContainsFunc(box.Low, func(x float32) bool { return x != 0 }) ||
		slices.ContainsFunc(box.High, func(x float32) bool { return x != 1 }) {
		return nil, fmt.Errorf("online: the actions of %s are %v, want numbers from 0 to 1", spec.ID, spec.Kinds[0].Action)
	}
	for _, q := range []struct {
		name string
		at   *int
	}{{"price", &t.at.price}, {"violated", &t.at.violated}, {"success", &t.at.success}, {"load", &t.at.load}} {
		var err error
		if *q.at, err = spec.InfoIndex(q.name); err != nil {
			return nil, fmt.Errorf("online: %w", err)
		}
	}
	if t.pricer, ok = envs.As[safe.Pricer](s.Env); !ok && s.Guard != nil {
		return nil, fmt.Errorf("online: safe exploration needs an environment that prices an action before it is used, and "+
			"%s doesn't", spec.ID)
	}
	t.loader, _ = envs.As[safe.Loader](s.Env)
	return t, nil
}

// Name implements [envs.Tuner].
func (t *Tuner) Name() string { return t.s.Name }

// Decided says who made the last proposal: policy, safe or best.
func (t *Tuner) Decided() string { return t.by }

// Guard is the present safe exploration, nil where there is none.
func (t *Tuner) Guard() *safe.Guard { return t.guard }

// Reset implements [envs.Tuner].
func (t *Tuner) Reset(seed uint64) error {
	var err error
	key := rng.New(seed, "online")
	if t.learner, err = t.s.Learner(key.With(0).Uint64()); err != nil {
		return err
	}
	if t.s.Guard != nil {
		if t.guard, err = t.s.Guard(key.With(1).Uint64()); err != nil {
			return err
		}
	}
	t.draws = key.With(2).Stream()
	t.tried, t.proposed, t.done, t.by, t.waiting = 0, false, false, "", t.waiting[:0]
	t.feasible, t.bestPrice, t.bestSuccess, t.best = false, math.Inf(1), -1, t.best[:0]
	return t.renew()
}

// renew takes the learner's present policy.
func (t *Tuner) renew() error {
	p, err := t.learner.Policy()
	if err != nil {
		return err
	}
	if err := p.Reset(t.draws.Uint64()); err != nil {
		return err
	}
	if f, ok := p.(Follower); ok && t.policy != nil && t.proposed {
		if err := f.Follow(t.policy); err != nil {
			return err
		}
	}
	t.policy = p
	return nil
}

// Follower is implemented by policies that remember windows: Follow takes over what the policy before it, of the same
// learner, remembers.
type Follower interface {
	Follow(before envs.Policy) error
}

// Propose implements [envs.Tuner].
func (t *Tuner) Propose(obs *envs.Observation, act *envs.Action) error {
	seen := obs.Kinds[0].Values
	if t.done { // the window before has shown what it leads to
		t.last.After = slices.Clone(seen)
		t.waiting = append(t.waiting, t.last)
		t.last, t.done = agents.Transition{}, false
	}
	if t.tried >= t.c.Windows && len(t.best) > 0 {
		t.by = ByBest
		copy(act.Kinds[0], t.best)
		return nil
	}
	if t.tried%t.c.UpdateEvery == 0 && t.c.GradientSteps > 0 {
		if err := t.learn(); err != nil {
			return err
		}
	}
	t.proposed = true
	t.last.Before = append(t.last.Before[:0], seen...)
	return t.choose(obs, act)
}

// learn brings the learner up to date, does the updates that are due and takes the policy that follows.
func (t *Tuner) learn() error {
	for i := range t.waiting {
		if err := t.learner.Take(&t.waiting[i]); err != nil {
			return err
		}
	}
	t.waiting = t.waiting[:0]
	for range t.c.GradientSteps {
		if err := t.learner.Learn(); err != nil {
			return err
		}
	}
	return t.renew()
}

// choose asks the policy, and safe exploration about its answer.
func (t *Tuner) choose(obs *envs.Observation, act *envs.Action) error {
	if err := t.policy.Act(obs, act, true); err != nil {
		return err
	}
	a := act.Kinds[0]
	for i := range a {
		x := float64(a[i])
		if t.c.Noise > 0 {
			x += float64(t.c.Noise * t.draws.Norm())
		}
		a[i] = float32(min(max(x, t.c.Low), t.c.High))
	}
	t.by = ByPolicy
	if t.guard == nil {
		return nil
	}
	if t.loader != nil {
		t.load = t.loader.LoadNow()
	}
	price, err := t.pricer.PriceOf(act)
	if err != nil {
		return err
	}
	if t.guard.Filter(t.load, price, a) {
		t.by = BySafe
	}
	return nil
}

// Observe implements [envs.Tuner]. Before the first proposal it brings rows of a library, which are history for safe
// exploration; without observations they teach the learner nothing.
func (t *Tuner) Observe(act *envs.Action, out *envs.Outcome) error {
	price, success, violated := out.Info[t.at.price], out.Info[t.at.success], out.Info[t.at.violated] != 0
	t.load = out.Info[t.at.load]
	if t.guard != nil {
		t.guard.Observe(t.load, price, violated, act.Kinds[0])
	}
	if !t.proposed || t.tried >= t.c.Windows {
		return nil
	}
	t.tried++
	t.last.Action = append(t.last.Action[:0], act.Kinds[0]...)
	t.last.Rewards = append(t.last.Rewards[:0], out.Rewards[0]...)
	t.last.Elapsed, t.last.Terminated, t.done = out.Elapsed, out.Terminated, true
	feasible := !violated
	better := feasible && !t.feasible || feasible == t.feasible && price < t.bestPrice &&
		(feasible || success >= t.bestSuccess) || !feasible && !t.feasible && success > t.bestSuccess
	if better || len(t.best) == 0 {
		t.feasible, t.bestPrice, t.bestSuccess = feasible, price, success
		t.best = append(t.best[:0], act.Kinds[0]...)
	}
	return nil
}

// saved is a tuner's state. JSON keeps it short to write, and float32 numbers exact.
type saved struct {
	Learner *agents.State `json:"learner"`
	First   int64         `json:"first_row"`
	Rows    [][]byte      `json:"rows"`
	Guard   []byte        `json:"guard,omitempty"`
	Draws   []byte        `json:"draws"`
	Policy  []byte        `json:"policy"`

	Tried       int                 `json:"tried"`
	Proposed    bool                `json:"proposed"`
	By          string              `json:"by"`
	Load        float64             `json:"load"`
	Last        agents.Transition   `json:"last"`
	Done        bool                `json:"done"`
	Waiting     []agents.Transition `json:"waiting"`
	Feasible    bool                `json:"feasible"`
	BestPrice   float64             `json:"best_price"`
	BestSuccess float64             `json:"best_success"`
	Best        []float32           `json:"best"`
}

// AppendBinary implements [envs.Tuner].
func (t *Tuner) AppendBinary(b []byte) ([]byte, error) {
	if t.learner == nil {
		return nil, fmt.Errorf("%s: there is no state before Reset", t.s.Name)
	}
	s := saved{
		Learner: agents.NewState(), Tried: t.tried, Proposed: t.proposed, By: t.by, Load: t.load, Last: t.last, Done: t.done,
		Waiting:  t.waiting,
		Feasible: t.feasible, BestPrice: min(t.bestPrice, math.MaxFloat64), BestSuccess: t.bestSuccess, Best: t.best,
	}
	err := t.learner.Save(s.Learner)
	if err != nil {
		return nil, err
	}
	if m := t.learner.Replay(); m != nil {
		s.First = m.First()
		for n := m.First(); n < m.Next(); n++ {
			s.Rows = append(s.Rows, m.AppendRow(n, nil))
		}
	}
	if t.guard != nil {
		if s.Guard, err = state.Append(nil, "online guard", t.guard); err != nil {
			return nil, err
		}
	}
	if s.Draws, err = t.draws.AppendBinary(nil); err != nil {
		return nil, err
	}
	if s.Policy, err = t.policy.AppendBinary(nil); err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	return append(b, text...), err
}

// UnmarshalBinary implements [envs.Tuner]: the tuner must be of the same setup. After an error it wants a Reset.
func (t *Tuner) UnmarshalBinary(b []byte) error {
	var s saved
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s: %w", t.s.Name, err)
	}
	if s.Learner == nil || s.Tried < 0 || s.Tried > t.c.Windows || (s.Guard != nil) != (t.s.Guard != nil) {
		return fmt.Errorf("%s: the state is not one of this tuner's", t.s.Name)
	}
	if err := t.Reset(0); err != nil {
		return err
	}
	if err := t.learner.Load(s.Learner); err != nil {
		return fmt.Errorf("%s: %w", t.s.Name, err)
	}
	if m := t.learner.Replay(); m != nil {
		if err := m.Restore(s.First); err != nil {
			return fmt.Errorf("%s: %w", t.s.Name, err)
		}
		for _, r := range s.Rows {
			if err := m.SetRow(r); err != nil {
				return fmt.Errorf("%s: %w", t.s.Name, err)
			}
		}
	}
	if t.guard != nil {
		if err := state.Load(s.Guard, "online guard", t.guard); err != nil {
			return fmt.Errorf("%s: %w", t.s.Name, err)
		}
	}
	if err := t.renew(); err != nil {
		return err
	}
	if err := t.draws.UnmarshalBinary(s.Draws); err != nil {
		return fmt.Errorf("%s: %w", t.s.Name, err)
	}
	if err := t.policy.UnmarshalBinary(s.Policy); err != nil {
		return fmt.Errorf("%s: %w", t.s.Name, err)
	}
	t.tried, t.proposed, t.by, t.load, t.last, t.done = s.Tried, s.Proposed, s.By, s.Load, s.Last, s.Done
	t.waiting = s.Waiting
	t.feasible, t.bestPrice, t.bestSuccess, t.best = s.Feasible, s.BestPrice, s.BestSuccess, s.Best
	if !t.feasible && len(t.best) == 0 {
		t.bestPrice = math.Inf(1)
	}
	return nil
}
