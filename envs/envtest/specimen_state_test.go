package envtest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

func (s *specimen) CopyFrom(src envs.Env) error {
	o, ok := src.(*specimen)
	if !ok {
		if s.is("foreign copy accepted") {
			return nil
		}
		return fmt.Errorf("copy from %T", src)
	}
	s.seed, s.step, s.running, s.level, s.consumed = o.seed, o.step, o.running, o.level, o.consumed
	switch s.defect {
	case "copy forgets":
		s.level[1] = 0
	case "copy forgets the end":
		s.running = true
	case "CopyFrom allocates":
		s.garbage = make([]byte, 10)
	case "copy shares":
		s.others = o
	case "copy changes the source":
		o.level[0]++
	}
	return nil
}

const specimenBytes = 8 + 8 + 1 + 8*workers + 8

func (s *specimen) AppendBinary(b []byte) ([]byte, error) {
	if s.is("save overwrites") {
		b = b[:0]
	}
	if s.is("restore keeps the bytes") && s.garbage != nil { // as if the state were still read from there
		s.level[0] = math.Float64frombits(binary.LittleEndian.Uint64(s.garbage[17:]))
		s.garbage = nil
	}
	b = binary.LittleEndian.AppendUint64(b, s.seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.step))
	running := byte(0)
	if s.running {
		running = 1
	}
	b = append(b, running)
	for _, x := range s.level {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	if s.is("saving changes the world") {
		s.level[0]++
	}
	return binary.LittleEndian.AppendUint64(b, s.consumed), nil
}

func (s *specimen) UnmarshalBinary(b []byte) error {
	if s.is("damage panics") {
		_ = b[specimenBytes-1]
	}
	if len(b) != specimenBytes && !(s.is("damage accepted") && len(b) > specimenBytes) {
		if s.is("cuts accepted") {
			return nil
		}
		return errors.New("state has the wrong length")
	}
	s.seed, s.step, s.running = binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:])), b[16] == 1
	for i := range s.level {
		s.level[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[17+8*i:]))
	}
	s.consumed = binary.LittleEndian.Uint64(b[17+8*workers:])
	switch s.defect {
	case "restore forgets":
		s.level[2] = 0
	case "restore forgets the end":
		s.running = true
	case "restore keeps the bytes":
		s.garbage = b
	}
	return nil
}
