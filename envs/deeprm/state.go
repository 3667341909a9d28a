package deeprm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// CopyFrom implements [envs.Env].
func (e *Env) CopyFrom(src envs.Env) error {
	s, ok := src.(*Env)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", ID, src)
	}
	if s.print != e.print {
		return fmt.Errorf("%s: copy from an environment of another configuration: %s, want %s", ID, s.print, e.print)
	}
	e.source.begin(s.seed, s.source.set)
	e.seed, e.begun, e.running, e.now = s.seed, s.begun, s.running, s.now
	copy(e.cluster.free, s.cluster.free)
	copy(e.jobs, s.jobs)
	copy(e.visible, s.visible)
	copy(e.needs, s.needs)
	copy(e.backlog, s.backlog)
	e.first, e.waiting, e.shown, e.weight, e.soonest, e.tally = s.first, s.waiting, s.shown, s.weight, s.soonest, s.tally
	e.active = append(e.active[:0], s.active...)
	e.placed = append(e.placed[:0], s.placed...)
	e.ends = append(e.ends[:0], s.ends...)
	e.screen.copyFrom(s.screen)
	return nil
}

const (
	stateVersion = 1
	stateHead    = 1 + 1 + 8 + 4 + 4 + 4
)

// AppendBinary implements [envs.Env]. An episode is its seed, its job set, the placements and the time: the rest follows by
// the rules, and [Env.UnmarshalBinary] goes through them again, so that no state is taken in that they would not lead to.
func (e *Env) AppendBinary(b []byte) ([]byte, error) {
	begun := byte(0)
	if e.begun {
		begun = 1
	}
	b = append(b, stateVersion, begun)
	b = binary.LittleEndian.AppendUint64(b, e.seed)
	b = binary.LittleEndian.AppendUint32(b, uint32(int32(e.source.set)))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.now))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.placed)))
	for _, p := range e.placed {
		b = binary.LittleEndian.AppendUint32(b, uint32(p.at))
		b = binary.LittleEndian.AppendUint32(b, uint32(p.place))
	}
	return b, nil
}

// UnmarshalBinary implements [envs.Env]. A state that is refused changes nothing.
func (e *Env) UnmarshalBinary(b []byte) error {
	if len(b) < stateHead || b[0] != stateVersion || b[1] > 1 {
		return fmt.Errorf("%s: saved state has %d bytes and begins with %v, want at least %d and version %d", ID, len(b), b[:min(2, len(b))], stateHead, stateVersion)
	}
	seed := binary.LittleEndian.Uint64(b[2:])
	set, now, n := int(int32(binary.LittleEndian.Uint32(b[10:]))), binary.LittleEndian.Uint32(b[14:]), binary.LittleEndian.Uint32(b[18:])
	list := b[stateHead:]
	if uint64(len(list)) != 8*uint64(n) {
		return fmt.Errorf("%s: saved state has %d bytes of placements, want 8 for each of %d", ID, len(list), n)
	}
	other, err := New(e.c)
	if err != nil {
		return err
	}
	if b[1] == 0 {
		if seed != 0 || set != -1 || now != 0 || n != 0 {
			return fmt.Errorf("%s: saved state has an episode that has not begun, at time step %d with %d placements", ID, now, n)
		}
		return e.CopyFrom(other)
	}
	if sets := other.source.sets(); set < -1 || set >= sets || set < 0 && sets > 0 {
		return fmt.Errorf("%s: saved state is of job set %d, there are %d", ID, set, sets)
	}
	other.begin(seed, set)
	for ; len(list) > 0; list = list[8:] {
		at, place := binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:])
		if at > now {
			return fmt.Errorf("%s: saved state has a placement in time step %d, after its last, %d", ID, at, now)
		}
		if err := other.pass(at); err != nil {
			return err
		}
		start := -1
		if other.running && place < uint32(e.c.Visible) {
			start = other.start(int(place))
		}
		if start < 0 {
			return fmt.Errorf("%s: saved state has a placement of place %d in time step %d, which the rules do not allow", ID, place, at)
		}
		other.place(int(place), start)
	}
	if err := other.pass(now); err != nil {
		return err
	}
	return e.CopyFrom(other)
}

// pass lets time steps pass up to one.
func (e *Env) pass(until uint32) error {
	if uint32(e.now) > until {
		return errors.New(ID + ": saved state has placements that go back in time")
	}
	for uint32(e.now) < until {
		if !e.running {
			return fmt.Errorf("%s: saved state is in time step %d, but its episode ends in %d", ID, until, e.now)
		}
		e.move()
	}
	return nil
}
