package envs

import (
	"encoding/binary"
	"fmt"
)

// TimeLimit truncates episodes after a number of steps, unless they have ended before.
type TimeLimit struct {
	wrapped
	most, steps int
	ended       bool
}

// NewTimeLimit wraps an environment. A limit of its own that is lower stays.
func NewTimeLimit(e Env, steps int) (*TimeLimit, error) {
	if steps < 1 {
		return nil, fmt.Errorf("envs: time limit of %d steps, want at least 1", steps)
	}
	t := &TimeLimit{wrapped: wrap(e), most: steps}
	if m := t.spec.MaxSteps; m == 0 || m > steps {
		t.spec.MaxSteps = steps
	}
	return t, nil
}

// Reset implements [Env].
func (t *TimeLimit) Reset(seed uint64, options Options, obs *Observation) error {
	if err := t.Env.Reset(seed, options, obs); err != nil {
		return err
	}
	t.steps, t.ended = 0, false
	return nil
}

// Step implements [Env].
func (t *TimeLimit) Step(act *Action, obs *Observation, out *Outcome) error {
	if t.ended {
		return fmt.Errorf("%s: step after the time limit of %d steps, want Reset", t.spec.ID, t.most)
	}
	if err := t.Env.Step(act, obs, out); err != nil {
		return err
	}
	t.steps++
	if t.steps >= t.most {
		out.Truncated, t.ended = true, true
	}
	return nil
}

// CopyFrom implements [Env].
func (t *TimeLimit) CopyFrom(src Env) error {
	s, err := sameWrapper(t, src)
	if err != nil {
		return err
	}
	if err := t.Env.CopyFrom(s.Env); err != nil {
		return err
	}
	t.steps, t.ended = s.steps, s.ended
	return nil
}

// AppendBinary implements [Env].
func (t *TimeLimit) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, uint64(t.steps))
	return t.appendInner(append(b, boolByte(t.ended)))
}

// UnmarshalBinary implements [Env].
func (t *TimeLimit) UnmarshalBinary(b []byte) error {
	r := &stateReader{b: b}
	steps, ended := r.uint64(), r.bytes(1)[0] != 0
	if err := t.readInner(r); err != nil {
		return err
	}
	t.steps, t.ended = int(steps), ended
	return nil
}
