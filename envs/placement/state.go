package placement

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// A decision is kept in 32 bits: 13 of which invocation, 5 of the amount, 13 of the node; waiting is all ones.
const waited = math.MaxUint32

func encode(which, amount, at int) uint32 {
	return uint32(which)<<18 | uint32(amount)<<13 | uint32(at)
}

func decode(d uint32) (which, amount, at int) {
	return int(d >> 18), int(d >> 13 & 31), int(d & (1<<13 - 1))
}

// CopyFrom implements [envs.Env].
func (e *Env) CopyFrom(src envs.Env) error {
	s, ok := src.(*Env)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", ID, src)
	}
	if s.s.print != e.s.print {
		return fmt.Errorf("%s: copy from an environment of another system: %+v, want %+v", ID, s.s.config, e.s.config)
	}
	if err := e.arrivals.copyFrom(&s.arrivals); err != nil {
		return err
	}
	e.seed, e.load, e.begun, e.running, e.now = s.seed, s.load, s.begun, s.running, s.now
	e.requests = append(e.requests[:0], s.requests...)
	e.free = append(e.free[:0], s.free...)
	e.calls = append(e.calls[:0], s.calls...)
	e.rows = append(e.rows[:0], s.rows...)
	e.levels = append(e.levels[:0], s.levels...)
	e.window = append(e.window[:0], s.window...)
	e.backlog, e.head = append(e.backlog[:0], s.backlog[s.head:]...), 0
	e.active = append(e.active[:0], s.active...)
	e.ends = append(e.ends[:0], s.ends...)
	copy(e.nodes, s.nodes)
	copy(e.pairs, s.pairs)
	copy(e.fits, s.fits)
	copy(e.warm, s.warm)
	copy(e.functions, s.functions)
	e.idle = append(e.idle[:0], s.idle...)
	e.decisions = append(e.decisions[:0], s.decisions...)
	e.used, e.weight, e.rate, e.meter, e.elapsed = s.used, s.weight, s.rate, s.meter, s.elapsed
	e.tally.copyFrom(&s.tally)
	copy(e.sketch.nodes, s.sketch.nodes)
	e.imagined = s.imagined
	return nil
}

// Imagine draws anew what arrives from now on, for planners that are not to see what will. Two things stay as they would have been: when
// the next request arrives where the workload is steady, whose gaps are nearly equal, and how long the executions take of what has arrived. Whether a source is in a burst is
// drawn anew. The state of an imagined episode can't be saved; Reset, and CopyFrom of another, end imagining.
func (e *Env) Imagine(seed uint64) {
	e.imagined = true
	e.arrivals.imagine(seed, e.now)
}

const (
	stateVersion = 1
	stateHead    = 1 + 1 + 8 + 8 + 8 + 8 + 4
)

// AppendBinary implements [envs.Env]. An episode is its seed, its load and the decisions: the rest follows by the rules, and [Env.UnmarshalBinary] goes through them
// again, so that no state is taken in that they would not lead to.
func (e *Env) AppendBinary(b []byte) ([]byte, error) {
	if e.imagined {
		return nil, fmt.Errorf("%s: the state of an imagined episode can't be saved: it does not follow from its seed", ID)
	}
	begun := byte(0)
	if e.begun {
		begun = 1
	}
	b = append(b, stateVersion, begun)
	b = binary.LittleEndian.AppendUint64(b, e.s.print)
	b = binary.LittleEndian.AppendUint64(b, e.seed)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.load))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.now))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.decisions)))
	for _, d := range e.decisions {
		b = binary.LittleEndian.AppendUint32(b, d)
	}
	return b, nil
}

// UnmarshalBinary implements [envs.Env]. A state that is refused changes nothing.
func (e *Env) UnmarshalBinary(b []byte) error {
	if len(b) < stateHead || b[0] != stateVersion || b[1] > 1 {
		return fmt.Errorf("%s: saved state has %d bytes and begins with %v, want at least %d and version %d", ID, len(b), b[:min(2, len(b))],
			stateHead, stateVersion)
	}
	if p := binary.LittleEndian.Uint64(b[2:]); p != e.s.print {
		return fmt.Errorf("%s: saved state is of another system (%016x, want %016x)", ID, p, e.s.print)
	}
	seed, bits := binary.LittleEndian.Uint64(b[10:]), binary.LittleEndian.Uint64(b[18:])
	load, now, n := math.Float64frombits(bits), int64(binary.LittleEndian.Uint64(b[26:])), binary.LittleEndian.Uint32(b[34:])
	list := b[stateHead:]
	if uint64(len(list)) != 4*uint64(n) {
		return fmt.Errorf("%s: saved state has %d bytes of decisions, want 4 for each of %d", ID, len(list), n)
	}
	other, err := e.s.Environment()
	if err != nil {
		return err
	}
	if b[1] == 0 {
		if seed != 0 || bits != 0 || now != 0 || n != 0 {
			return fmt.Errorf("%s: saved state has an episode that has not begun, with seed %d, load %g and %d decisions", ID, seed, load, n)
		}
		return e.CopyFrom(other)
	}
	if most := max(e.c.Load, e.c.LoadTo); !(load >= 0 && load <= most) {
		return fmt.Errorf("%s: saved state has a load of %g, want 0 to %g", ID, load, most)
	}
	other.begin(seed, load)
	for k := 0; len(list) > 0; k, list = k+1, list[4:] {
		if !other.running {
			return fmt.Errorf("%s: saved state has decision %d after the end of its episode", ID, k)
		}
		which, amount, at := other.layout.Wait(), 0, 0
		d := binary.LittleEndian.Uint32(list)
		if d != waited {
			which, amount, at = decode(d)
		}
		if amount >= len(e.c.Amounts) || at >= len(e.nodes) || d != waited && which >= e.c.Window {
			return fmt.Errorf("%s: saved state has decision %d for invocation %d, amount %d and node %d, of which there are fewer", ID, k, which, amount, at)
		}
		if err := other.allowed(which, amount, at); err != nil {
			return fmt.Errorf("saved state's decision %d: %w", k, err)
		}
		other.decisions = append(other.decisions, d)
		other.apply(which, amount, at, nil)
	}
	if other.now != now {
		return fmt.Errorf("%s: saved state is at %d µs, but its decisions lead to %d µs", ID, now, other.now)
	}
	return e.CopyFrom(other)
}
