// Package choicetest is what the tests of learners share: a small environment with a mask ([Toy]), training as a
// shipped configuration says ([Train], [Seeds]), one step of a learner at a time ([Loop]), learning curves as files and
// figures ([WriteCurves], [Draw]), and forged states and policy files ([FuzzState], [Forge]).
//
// Not here: learners and their claims, which stand beside the learners, and the layout of saved states
// (envs/state/statetest).
package choicetest

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Toy is a small environment with a mask. One agent sees a side, −1 or 1, and which of three choices is illegal. On the
// left side choices pay 0, 1 and 2, on the right 2, 1 and 0; both are drawn anew for each step, so that the best legal
// choice pays 5/3 on average. An illegal choice is an error.
type Toy struct {
	// Length is the number of steps of an episode, Cut whether it is truncated then; else the world ends.
	Length int
	Cut    bool
	// Flat pays 1 for everything: then every state is worth as much as the discounts add up to.
	Flat bool
	// Sets, where positive, is the number of episodes that recur.
	Sets int

	Moment
	spec *envs.Spec
}

// NewToy returns the environment.
func NewToy(t Toy) *Toy {
	t.spec = &envs.Spec{
		ID: "test/Choices-v1", Doc: "Choose one of three.", MaxSteps: t.Length,
		Kinds: []envs.Kind{{Name: "chooser", Agents: 1, Observation: envs.NewBox(4, -1, 1), Action: envs.Discrete{N: 3}}},
	}
	return &t
}

// Spec implements [envs.Env].
func (t *Toy) Spec() *envs.Spec { return t.spec }

// Set is the number of the present episode among those that recur, −1 where none does.
func (t *Toy) Set() int {
	if t.Sets == 0 {
		return -1
	}
	return int(t.Seed % uint64(t.Sets))
}

// now is the side and the illegal choice of the present step.
func (t *Toy) now() (side float32, illegal int) {
	seed := t.Seed
	if t.Sets > 0 {
		seed = uint64(t.Set())
	}
	k := rng.New(seed, "toy").With(uint64(t.At))
	return float32(2*k.With(0).IntN(2) - 1), k.With(1).IntN(3)
}

// Reset implements [envs.Env].
func (t *Toy) Reset(seed uint64, _ envs.Options, obs *envs.Observation) error {
	t.Moment = Moment{Seed: seed}
	t.see(obs)
	return nil
}

func (t *Toy) see(obs *envs.Observation) {
	o := &obs.Kinds[0]
	side, illegal := t.now()
	o.Active[0], o.Values[0] = true, side
	for i := range o.Mask {
		o.Mask[i], o.Values[1+i] = i != illegal, 0
	}
	o.Values[1+illegal] = 1
}

// Step implements [envs.Env].
func (t *Toy) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if t.At >= t.Length {
		return errors.New("toy: the episode has ended")
	}
	if err := envs.CheckAction(t.spec, nil, act); err != nil {
		return err
	}
	side, illegal := t.now()
	c := int(act.Kinds[0][0])
	if c == illegal {
		return fmt.Errorf("toy: choice %d is illegal", c)
	}
	out.Rewards[0][0] = float32(c)
	if side > 0 {
		out.Rewards[0][0] = float32(2 - c)
	}
	if t.Flat {
		out.Rewards[0][0] = 1
	}
	t.At++
	done := t.At == t.Length
	out.Terminated, out.Truncated, out.Elapsed = done && !t.Cut, done && t.Cut, 1_000_000
	t.see(obs)
	return nil
}

// CopyFrom implements [envs.Env].
func (t *Toy) CopyFrom(src envs.Env) error {
	s, ok := src.(*Toy)
	if !ok {
		return fmt.Errorf("toy: copying from a %T", src)
	}
	t.Moment = s.Moment
	return nil
}

// Moment is all that changes in an environment whose world follows from its seed.
type Moment struct {
	Seed uint64
	At   int // steps since the beginning
}

// State implements [state.Stater].
func (m *Moment) State(c *state.Codec) { state.Value(c, m) }

// AppendBinary implements encoding.BinaryAppender.
func (m *Moment) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, "toy", m) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (m *Moment) UnmarshalBinary(b []byte) error { return state.Load(b, "toy", m) }
