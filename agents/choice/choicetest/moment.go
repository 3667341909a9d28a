package choicetest

import (
	"encoding/binary"
	"fmt"
)

// Moment is all that changes in an environment whose world follows from its seed.
type Moment struct {
	Seed uint64
	At   int // steps since the beginning
}

// AppendBinary implements encoding.BinaryAppender.
func (m *Moment) AppendBinary(b []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, m.Seed), uint64(m.At)), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (m *Moment) UnmarshalBinary(b []byte) error {
	if len(b) != 16 {
		return fmt.Errorf("toy: %d bytes, want 16", len(b))
	}
	m.Seed, m.At = binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:]))
	return nil
}
