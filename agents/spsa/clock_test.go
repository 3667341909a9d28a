package spsa

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// clock is the common part of these tests' environments: windows that follow each other, no other state, and the
// window's number as observation.
type clock struct {
	spec   envs.Spec
	seed   uint64
	window int
	over   bool
}

func (c *clock) Spec() *envs.Spec { return &c.spec }

func (c *clock) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if len(options) > 0 {
		return errors.New(c.spec.ID + ": it has no options")
	}
	c.seed, c.window, c.over = seed, 0, false
	c.see(obs)
	return nil
}

func (c *clock) see(obs *envs.Observation) {
	obs.Kinds[0].Values[0], obs.Kinds[0].Active[0] = float32(c.window)/float32(c.spec.MaxSteps), true
}

// check reports whether a window may be played with this action.
func (c *clock) check(act *envs.Action) error {
	if c.over {
		return errors.New(c.spec.ID + ": step outside an episode")
	}
	return envs.CheckAction(&c.spec, nil, act)
}

// tick ends a window with its reward.
func (c *clock) tick(reward float64, obs *envs.Observation, out *envs.Outcome) {
	c.window++
	c.over = c.window >= c.spec.MaxSteps
	out.Rewards[0][0] = float32(reward)
	out.Terminated, out.Truncated, out.Elapsed = false, c.over, c.spec.Step.Fixed
	c.see(obs)
}

func (c *clock) time() *clock { return c }

func (c *clock) CopyFrom(src envs.Env) error {
	s, ok := src.(interface{ time() *clock })
	if !ok || s.time().spec.ID != c.spec.ID {
		return fmt.Errorf("%s: copy from a %T", c.spec.ID, src)
	}
	c.seed, c.window, c.over = s.time().seed, s.time().window, s.time().over
	return nil
}

func (c *clock) AppendBinary(b []byte) ([]byte, error) {
	over := uint64(0)
	if c.over {
		over = 1
	}
	for _, x := range []uint64{c.seed, uint64(c.window), over} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b, nil
}

func (c *clock) UnmarshalBinary(b []byte) error {
	if len(b) != 24 || binary.LittleEndian.Uint64(b[8:]) > uint64(c.spec.MaxSteps) ||
		binary.LittleEndian.Uint64(b[16:]) > 1 {
		return fmt.Errorf("%s: saved state %x is not one", c.spec.ID, b)
	}
	c.seed, c.window, c.over = binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:])), b[16] == 1
	return nil
}
