package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// climb is the learner's row.
var climb = catalog.DefineLearner(catalog.Learner{
	Name: "climb", Doc: "hill climbing over one constant action", Source: source,
}, DefaultClimb, NewClimb, OpenHeld)

// ClimbConfig is what a configuration file may say of the learner.
type ClimbConfig struct {
	// Steps is the number of environment steps, in each copy, for which one action is tried.
	Steps int `yaml:"steps" json:"steps" range:"[1,1e6]"`
	// Width is the standard deviation of a trial, as a share of each component's range.
	Width float64 `yaml:"width" json:"width" range:"(0,1]"`
}

// DefaultClimb tries an action for 60 steps.
func DefaultClimb() ClimbConfig { return ClimbConfig{Steps: 60, Width: 0.2} }

// Climb is hill climbing over one constant action: it tries a random neighbour of the best action so far, and holds it
// where the mean reward is higher. It learns in environments with one agent that acts in a box.
type Climb struct {
	c           ClimbConfig
	ctx         agents.Context
	box         envs.Box
	best, trial []float32
	tally
}

// tally is what has come of the trials.
type tally struct {
	mean   float64 // reward of best
	sum    float64 // of rewards in the trial
	steps  int64   // of the trial
	trials int64
}

// NewClimb returns a learner for the environments of ctx.
func NewClimb(c ClimbConfig, ctx agents.Context) (*Climb, error) {
	if err := bounds.Check(c); err != nil {
		return nil, fmt.Errorf("climb: %w", err)
	}
	k := ctx.Spec.Kinds[0]
	box, ok := k.Action.(envs.Box)
	if !ok || len(ctx.Spec.Kinds) != 1 || k.Agents != 1 {
		return nil, fmt.Errorf("climb: %s does not have one agent that acts in a box", ctx.Spec.ID)
	}
	l := &Climb{c: c, ctx: ctx, box: box}
	for i := range box.Low {
		l.trial = append(l.trial, (box.Low[i]+box.High[i])/2)
	}
	l.best = slices.Clone(l.trial)
	return l, nil
}

// Act implements [agents.Learner].
func (l *Climb) Act(v *envs.Vector) error {
	for i := range l.ctx.Copies {
		copy(v.Act.Env(i).Kinds[0], l.trial)
	}
	return nil
}

// Observe implements [agents.Learner].
func (l *Climb) Observe(v *envs.Vector) error {
	for _, r := range v.Rewards[0] {
		l.sum += float64(r) / float64(l.ctx.Copies)
	}
	l.steps++
	return nil
}

// Update implements [agents.Learner].
func (l *Climb) Update() error {
	if l.steps < int64(l.c.Steps) {
		return nil
	}
	if mean := l.sum / float64(l.steps); l.trials == 0 || mean > l.mean {
		copy(l.best, l.trial)
		l.mean = mean
	}
	l.sum, l.steps = 0, 0
	l.trials++
	// Keyed by the trial: there is no random state to save.
	key := rng.New(l.ctx.Seed, "climb").With(uint64(l.trials))
	for i := range l.trial {
		low, high := l.box.Low[i], l.box.High[i]
		step := float32(l.c.Width*key.With(uint64(i)).Norm()) * (high - low)
		l.trial[i] = min(max(l.best[i]+step, low), high)
	}
	return nil
}

// Metrics implements [agents.Learner].
func (l *Climb) Metrics(f func(name string, value float64)) {
	f("train/n_updates", float64(l.trials))
	f("train/best", l.mean)
}

// Replay implements [agents.Learner]: there is none.
func (*Climb) Replay() *replay.Buffer { return nil }

// State implements [state.Stater].
func (l *Climb) State(c *state.Codec) {
	state.Fixed(c, l.best)
	state.Fixed(c, l.trial)
	state.Value(c, &l.tally)
	if c.Loaded() {
		c.Fail(errors.Join(l.box.Contains(l.best), l.box.Contains(l.trial)))
		c.Check(l.steps >= 0 && l.trials >= 0, "%d steps and %d trials, want 0 or more", l.steps, l.trials)
	}
}

// blob names the state in a checkpoint.
const blob = "climb"

// Save implements [agents.Learner].
func (l *Climb) Save(s *agents.State) error {
	b, err := state.Append(nil, blob, l)
	s.Blobs[blob], s.Counters["trials"] = b, l.trials
	return err
}

// Load implements [agents.Learner].
func (l *Climb) Load(s *agents.State) error {
	b, err := s.GetBlob(blob)
	if err != nil {
		return err
	}
	return state.Load(b, blob, l)
}

// Adopt implements [agents.Learner]: the search begins at another run's best action.
func (l *Climb) Adopt(s *agents.State) error {
	other, err := NewClimb(l.c, l.ctx)
	if err != nil {
		return err
	}
	if err := other.Load(s); err != nil {
		return err
	}
	copy(l.best, other.best)
	copy(l.trial, other.best)
	return nil
}

// Policy implements [agents.Learner].
func (l *Climb) Policy() (agents.Policy, error) {
	return &Held{id: l.ctx.Spec.ID, action: slices.Clone(l.best)}, nil
}

// Held is what Climb learns: a policy that holds one action.
type Held struct {
	id     string
	action []float32
}

// OpenHeld makes the policy from its file.
func OpenHeld(f *agents.PolicyFile, spec *envs.Spec, _ nets.Engine) (*Held, error) {
	a := f.Arrays["action"].Data
	if f.EnvID != spec.ID {
		return nil, fmt.Errorf("climb: the policy is for %s, want one for %s", f.EnvID, spec.ID)
	}
	if err := spec.Kinds[0].Action.Contains(a); err != nil {
		return nil, fmt.Errorf("climb: array action: %w", err)
	}
	return &Held{id: f.EnvID, action: a}, nil
}

// Export implements [agents.Policy].
func (p *Held) Export() (*agents.PolicyFile, error) {
	return &agents.PolicyFile{Agent: "climb", EnvID: p.id, Description: []byte("{}"),
		Arrays: map[string]agents.Array{"action": {Shape: []int{len(p.action)}, Data: p.action}}}, nil
}

// Name implements [envs.Policy].
func (*Held) Name() string { return "climb" }

// Reset implements [envs.Policy].
func (*Held) Reset(uint64) error { return nil }

// Act implements [envs.Policy].
func (p *Held) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	copy(act.Kinds[0], p.action)
	return nil
}

// CopyFrom implements [envs.Policy].
func (p *Held) CopyFrom(src envs.Policy) error {
	s, ok := src.(*Held)
	if !ok || !slices.Equal(s.action, p.action) {
		return fmt.Errorf("climb: can't be made equal to %s: it holds another action", src.Name())
	}
	return nil
}

// AppendBinary implements [envs.Policy].
func (*Held) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary implements [envs.Policy].
func (*Held) UnmarshalBinary([]byte) error { return nil }
