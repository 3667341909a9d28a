package workflow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// CopyFrom makes t equal to another tracker of the same workflow.
func (t *Tracker) CopyFrom(src *Tracker) error {
	if src.w.print != t.w.print {
		return fmt.Errorf("workflow %q: the tracker copied from follows another workflow, %q", t.w.Name(), src.w.Name())
	}
	t.seed, t.key = src.seed, src.key
	t.runs = append(t.runs[:0], src.runs...)
	t.free = append(t.free[:0], src.free...)
	t.cells = append(t.cells[:0], src.cells...)
	return nil
}

const trackerVersion = 1

// AppendBinary appends the tracker's state.
func (t *Tracker) AppendBinary(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	b = append(b, trackerVersion)
	b = le.AppendUint64(b, t.w.print)
	b = le.AppendUint64(b, t.seed)
	b = le.AppendUint32(b, uint32(len(t.runs)))
	b = le.AppendUint32(b, uint32(len(t.free)))
	for _, r := range t.free {
		b = le.AppendUint32(b, uint32(r))
	}
	n := len(t.w.function)
	for r := range t.runs {
		if !t.runs[r].used {
			continue
		}
		b = le.AppendUint64(b, t.runs[r].user)
		b = le.AppendUint64(b, t.runs[r].request)
		for _, c := range t.cells[r*n:][:n] {
			b = le.AppendUint32(b, uint32(c.open))
			b = le.AppendUint32(b, uint32(c.number))
			b = le.AppendUint32(b, uint32(c.calls))
			taken := byte(0)
			if c.taken {
				taken = 1
			}
			b = append(b, taken, byte(c.phase))
		}
	}
	return b, nil
}

// cellBytes is the length of a saved cell.
const cellBytes = 14

var errTracker = errors.New("workflow: the tracker's saved state is damaged")

// UnmarshalBinary restores a state of the same workflow. A damaged or foreign one is refused and leaves t as it was.
func (t *Tracker) UnmarshalBinary(b []byte) error {
	le := binary.LittleEndian
	const head = 1 + 8 + 8 + 4 + 4
	if len(b) < head {
		return fmt.Errorf("%w: %d bytes, want at least %d", errTracker, len(b), head)
	}
	if b[0] != trackerVersion {
		return fmt.Errorf("%w: version %d, want %d", errTracker, b[0], trackerVersion)
	}
	if p := le.Uint64(b[1:]); p != t.w.print {
		return fmt.Errorf("workflow %q: the saved tracker followed another workflow", t.w.Name())
	}
	seed := le.Uint64(b[9:])
	runs, free := int(le.Uint32(b[17:])), int(le.Uint32(b[21:]))
	b = b[head:]
	n := len(t.w.function)
	if free > runs || free > len(b)/4 || (runs-free) > len(b)/16 || len(b) != 4*free+(runs-free)*(16+cellBytes*n) {
		return fmt.Errorf("%w: %d runs of which %d are free do not fit %d bytes", errTracker, runs, free, len(b))
	}
	s := Tracker{w: t.w, seed: seed, key: rng.New(seed, "workflow"), runs: make([]run, runs), cells: make([]cell, runs*n)}
	for i := range s.runs {
		s.runs[i].used = true
	}
	for range free {
		r := le.Uint32(b)
		b = b[4:]
		if int(r) >= runs || !s.runs[r].used {
			return fmt.Errorf("%w: run %d is free twice or beyond %d", errTracker, r, runs)
		}
		s.runs[r].used = false
		s.free = append(s.free, int32(r))
	}
	for r := range s.runs {
		if !s.runs[r].used {
			continue
		}
		s.runs[r].user, s.runs[r].request = le.Uint64(b), le.Uint64(b[8:])
		b = b[16:]
		for m := range n {
			c := cell{open: int32(le.Uint32(b)), number: int32(le.Uint32(b[4:])), calls: int32(le.Uint32(b[8:])), taken: b[12] == 1, phase: phase(b[13])}
			if b[12] > 1 {
				return fmt.Errorf("%w: run %d, node %q", errTracker, r, t.w.NodeName(m))
			}
			b = b[cellBytes:]
			s.cells[r*n+m] = c
			if c.phase != idle {
				s.runs[r].active++
			}
		}
		if err := s.consistent(int32(r)); err != nil {
			return err
		}
	}
	t.seed, t.key = s.seed, s.key
	t.runs, t.free, t.cells = s.runs, s.free, s.cells
	return nil
}

// consistent checks what every later event relies on.
func (t *Tracker) consistent(r int32) error {
	for m, in := range t.w.in {
		c := t.cell(r, int32(m))
		callees := int32(len(t.w.calls[m]))
		under := func(k int32) bool { return t.cell(r, k).phase != idle }
		ok := c.open >= 0 && c.open <= in && c.number >= 0 && c.phase < phases && (c.phase == idle || c.number > 0)
		switch {
		case !ok:
		case c.phase == calling:
			ok = c.calls >= 1 && c.calls <= callees
			if ok && t.w.mode[m] == OneByOne {
				ok = under(t.w.calls[m][c.calls-1])
			}
			running := int32(0)
			for _, k := range t.w.calls[m] {
				if under(k) {
					running++
				}
			}
			ok = ok && (running == c.calls || t.w.mode[m] == OneByOne && running == 1)
		default:
			ok = !slices.ContainsFunc(t.w.calls[m], under)
		}
		if !ok {
			return fmt.Errorf("%w: run %d, node %q", errTracker, r, t.w.NodeName(m))
		}
	}
	if t.runs[r].active == 0 {
		return fmt.Errorf("%w: run %d is in flight and does nothing", errTracker, r)
	}
	return nil
}
