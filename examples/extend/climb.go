package main

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
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
	Name: "climb", Doc: "hill climbing over a linear policy", Source: source,
}, DefaultClimb, NewClimb, actor.Open)

// ClimbConfig is what a configuration file may say of the learner.
type ClimbConfig struct {
	// Steps is the number of environment steps, in each copy, for which weights are tried.
	Steps int `yaml:"steps" json:"steps" range:"[1,1e6]"`
	// Width is the standard deviation of a trial of each weight.
	Width float64 `yaml:"width" json:"width" range:"(0,1]"`
}

// DefaultClimb tries weights for 60 steps.
func DefaultClimb() ClimbConfig { return ClimbConfig{Steps: 60, Width: 0.2} }

// Climb is hill climbing over the weights of a linear policy: it tries a random neighbour of the best weights so far, and
// holds them where the mean reward is higher. It learns in environments with one kind of agents that act in a box.
type Climb struct {
	c           ClimbConfig
	ctx         agents.Context
	spread      actor.Spread
	net         *actor.Net
	best, trial []float32 // weights
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
	k := &ctx.Spec.Kinds[0]
	box, ok := k.Action.(envs.Box)
	if !ok || len(ctx.Spec.Kinds) != 1 {
		return nil, fmt.Errorf("climb: %s does not have one kind of agents that act in a box", ctx.Spec.ID)
	}
	l := &Climb{c: c, ctx: ctx}
	var err error
	if l.spread, err = actor.NewSpread(box); err != nil {
		return nil, fmt.Errorf("climb: %w", err)
	}
	linear := nets.MLP{Agents: 1, In: []nets.Port{{Name: "observation", Width: k.Observation.Width()}}, Out: box.Width(),
		Activation: nets.Tanh, Final: nets.Sigmoid}
	if l.net, err = actor.NewNet(ctx.Act, linear, actor.NetOptions{Kind: k, NumEnvs: ctx.NumEnvs}); err != nil {
		return nil, fmt.Errorf("climb: %w", err)
	}
	l.best = make([]float32, nets.Size(l.net.Net.Params()))
	l.trial = slices.Clone(l.best)
	return l, nil
}

// Act implements [agents.Learner].
func (l *Climb) Act(v *envs.Vector) error {
	o, n := &v.Obs.Kinds[0], l.ctx.Spec.Kinds[0].Agents
	if err := l.net.Run(o.Values, o.Active); err != nil {
		return fmt.Errorf("climb: %w", err)
	}
	for i := range l.ctx.NumEnvs {
		act := v.Act.Env(i).Kinds[0]
		for j := range n {
			l.spread.Unit(l.net.Row(i, j), act[j*len(act)/n:(j+1)*len(act)/n])
		}
	}
	return nil
}

// Observe implements [agents.Learner].
func (l *Climb) Observe(v *envs.Vector) error {
	for _, r := range v.Rewards[0] {
		l.sum += float64(r) / float64(l.ctx.NumEnvs)
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
		l.trial[i] = l.best[i] + float32(l.c.Width*key.With(uint64(i)).Norm())
	}
	l.net.Net.Params().Set(l.trial)
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
		c.Check(envs.NotFinite(l.best) < 0 && envs.NotFinite(l.trial) < 0, "weights are not finite")
		l.net.Net.Params().Set(l.trial)
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

// Adopt implements [agents.Learner]: the search begins at another run's best weights.
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
	l.net.Net.Params().Set(l.trial)
	return nil
}

// Policy implements [agents.Learner]. Package actor stores it, explains it and writes it as ONNX.
func (l *Climb) Policy() (agents.Policy, error) {
	params := l.net.Net.Params()
	params.Set(l.best)
	defer params.Set(l.trial)
	k := actor.Kind{Head: actor.Interval, Network: actor.Network{Arch: l.net.Net.Arch()}}
	return actor.Source{Agent: "climb", Spec: l.ctx.Spec, Train: l.ctx.Act, Act: l.ctx.Act}.Policy(
		actor.Part{Kind: k, Params: params})
}
