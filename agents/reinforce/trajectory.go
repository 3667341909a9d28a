package reinforce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// trajectory is what one agent lived through, from a beginning to an end or a cut. Its memory serves again.
type trajectory struct {
	sequence  int  // number of the recurring episode, 0 where the environment names none
	bootstrap bool // it was cut or truncated: the return continues in the value of the last observation
	imitated  bool // a teacher chose the actions
	steps     int
	obs       observations // by step and, once there is an end, what was seen there
	// By step: what was legal, [steps, choices], the choice, [steps, components], the scaled reward, the discount of what follows, and ln π of
	// the choice when it was made.
	mask                           []bool
	choice, reward, discount, logp []float32
	counterfactual                 []float32 // advantages of that baseline, else empty
}

func (t *trajectory) clear() {
	t.sequence, t.bootstrap, t.imitated, t.steps = 0, false, false, 0
	t.obs.clear()
	t.mask = t.mask[:0]
	for _, s := range t.columns() {
		*s = (*s)[:0]
	}
	t.counterfactual = t.counterfactual[:0]
}

func (t *trajectory) columns() []*[]float32 {
	all := []*[]float32{&t.choice, &t.reward, &t.discount, &t.logp}
	if len(t.counterfactual) > 0 {
		all = append(all, &t.counterfactual)
	}
	return all
}

// ended reports whether what was seen at the end is there.
func (t *trajectory) ended() bool { return t.obs.rows() > t.steps }

// appendTo appends the trajectory as bytes: the set, whether it goes on and was taught, its steps, how much was seen, what was seen, a byte for each choice that
// was legal or not, and then the numbers of each column.
func (t *trajectory) appendTo(b []byte) []byte {
	flags := uint64(0)
	if t.bootstrap {
		flags |= goesOn
	}
	if t.imitated {
		flags |= wasTaught
	}
	if len(t.counterfactual) > 0 {
		flags |= wasJudged
	}
	for _, x := range []uint64{uint64(t.sequence), flags, uint64(t.steps), uint64(t.obs.rows())} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	b = t.obs.appendTo(b)
	for _, legal := range t.mask {
		x := byte(0)
		if legal {
			x = 1
		}
		b = append(b, x)
	}
	for _, s := range t.columns() {
		for _, x := range *s {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

// Flags of a trajectory.
const (
	goesOn = 1 << iota
	wasTaught
	wasJudged
)

// read takes what appendTo wrote, for components with so many choices each, off b.
func (t *trajectory) read(b []byte, components []int) ([]byte, error) {
	head := [4]uint64{}
	for i := range head {
		var err error
		if head[i], b, err = number(b); err != nil {
			return nil, err
		}
	}
	if head[1] > goesOn|wasTaught|wasJudged || head[2] > math.MaxInt32 || head[3]-head[2] > 1 {
		return nil, fmt.Errorf("a trajectory of %d steps in which %d things were seen, with flags %d", head[2], head[3], head[1])
	}
	t.sequence, t.bootstrap, t.imitated, t.steps = int(head[0]), head[1]&goesOn != 0, head[1]&wasTaught != 0, int(head[2])
	b, err := t.obs.read(b, int(head[3]))
	if err != nil {
		return nil, err
	}
	n := 0
	for _, c := range components {
		n += c
	}
	t.counterfactual = t.counterfactual[:0]
	if head[1]&wasJudged != 0 {
		t.counterfactual = append(t.counterfactual, 0) // a column that is there
	}
	if want := t.steps * (n + 4*(len(t.columns())-1+len(components))); len(b) < want {
		return nil, fmt.Errorf("a trajectory of %d steps takes %d bytes more, %d are left", t.steps, want, len(b))
	}
	t.mask = t.mask[:0]
	for _, x := range b[:t.steps*n] {
		t.mask = append(t.mask, x != 0)
	}
	b = b[t.steps*n:]
	for i, s := range t.columns() {
		size := t.steps
		if i == 0 {
			size *= len(components)
		}
		*s = (*s)[:0]
		for ; size > 0; size, b = size-1, b[4:] {
			*s = append(*s, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	}
	if t.bootstrap && !t.ended() {
		return nil, errors.New("a trajectory goes on from nothing")
	}
	for i, c := range t.choice {
		if n := components[i%len(components)]; !(c >= 0 && c < float32(n)) {
			return nil, fmt.Errorf("choice %d of a trajectory is %g, want 0 to %d", i, c, n-1)
		}
	}
	return b, nil
}

func number(b []byte) (uint64, []byte, error) {
	if len(b) < 8 {
		return 0, nil, errors.New("it ends early")
	}
	return binary.LittleEndian.Uint64(b), b[8:], nil
}
