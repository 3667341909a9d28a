package choicetest

import "github.com/stoker-rl/stoker/envs/state"

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
