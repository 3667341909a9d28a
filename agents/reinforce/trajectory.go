package reinforce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// trajectory is what one agent lived through, from a beginning to an end or a cut. Its memory serves again.
type trajectory struct {
	set   int  // of the environment's recurring episodes, 0 where it names none
	goes  bool // it was cut or truncated, and goes on in the value of last
	steps int
	seen  packed // by step
	// By step: what was legal, [steps, choices], the choice, the scaled reward, the discount of what follows, and ln π of the choice when it was
	// made.
	mask                           []bool
	choice, reward, discount, logp []float32
	last                           []float32 // seen at the end, [obs]
}

func (t *trajectory) clear() {
	t.set, t.goes, t.steps = 0, false, 0
	t.seen.clear()
	t.mask = t.mask[:0]
	for _, s := range t.columns() {
		*s = (*s)[:0]
	}
}

func (t *trajectory) columns() []*[]float32 {
	return []*[]float32{&t.choice, &t.reward, &t.discount, &t.logp, &t.last}
}

// appendTo appends the trajectory as bytes: the set, whether it goes on, its steps, what was seen, a byte for each choice that was legal or
// not, and then the numbers of each column.
func (t *trajectory) appendTo(b []byte) []byte {
	goes := uint64(0)
	if t.goes {
		goes = 1
	}
	for _, x := range []uint64{uint64(t.set), goes, uint64(t.steps)} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	b = t.seen.appendTo(b)
	for _, legal := range t.mask {
		x := byte(0)
		if legal {
			x = 1
		}
		b = append(b, x)
	}
	for _, s := range t.columns() {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(*s)))
		for _, x := range *s {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

// read takes what appendTo wrote for obs observed numbers and n choices off b.
func (t *trajectory) read(b []byte, obs, n int) ([]byte, error) {
	head := [3]uint64{}
	for i := range head {
		var err error
		if head[i], b, err = number(b); err != nil {
			return nil, err
		}
	}
	if head[1] > 1 || head[2] > math.MaxInt32 {
		return nil, fmt.Errorf("a trajectory of %d steps, going on: %d", head[2], head[1])
	}
	t.set, t.goes, t.steps = int(head[0]), head[1] == 1, int(head[2])
	b, err := t.seen.read(b, t.steps, obs)
	if err != nil {
		return nil, err
	}
	if len(b)/n < t.steps {
		return nil, fmt.Errorf("what was legal in %d steps is %d bytes short", t.steps, t.steps*n-len(b))
	}
	t.mask = t.mask[:0]
	for _, x := range b[:t.steps*n] {
		t.mask = append(t.mask, x != 0)
	}
	b = b[t.steps*n:]
	for i, s := range t.columns() {
		size, rest, err := number(b)
		if err != nil {
			return nil, err
		}
		want := uint64(t.steps) * uint64([]int{1, 1, 1, 1, 0}[i])
		if i == 4 && size != 0 { // what was seen at the end is there once there is an end
			want = uint64(obs)
		}
		if size != want || uint64(len(rest)) < 4*size {
			return nil, fmt.Errorf("column %d of a trajectory of %d steps has %d numbers, want %d; %d bytes are left", i, t.steps, size, want, len(rest))
		}
		*s = (*s)[:0]
		for ; size > 0; size, rest = size-1, rest[4:] {
			*s = append(*s, math.Float32frombits(binary.LittleEndian.Uint32(rest)))
		}
		b = rest
	}
	if t.goes && len(t.last) != obs {
		return nil, errors.New("a trajectory goes on from nothing")
	}
	for i, c := range t.choice {
		if !(c >= 0 && c < float32(n)) {
			return nil, fmt.Errorf("choice %d of a trajectory is %g, want 0 to %d", i, c, n-1)
		}
	}
	return b, nil
}

func number(b []byte) (uint64, []byte, error) {
	if len(b) < 8 {
		return 0, nil, errors.New("trajectories end early")
	}
	return binary.LittleEndian.Uint64(b), b[8:], nil
}
