package state_test

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
)

// large is a state like a simulator's: some numbers and many slices.
type large struct {
	a, b, c int64
	floats  [20][]float64
	indices [20][]int32
}

func (l *large) State(c *state.Codec) {
	state.Value(c, &l.a)
	state.Value(c, &l.b)
	state.Value(c, &l.c)
	for i := range l.floats {
		state.Slice(c, &l.floats[i])
	}
	for i := range l.indices {
		state.Slice(c, &l.indices[i])
	}
}

func newLarge(n int) *large {
	l := new(large)
	for i := range l.floats {
		l.floats[i], l.indices[i] = make([]float64, n), make([]int32, n)
	}
	return l
}

// byHand is what State comes to, written out.
func (l *large) byHand(o *large) {
	l.a, l.b, l.c = o.a, o.b, o.c
	for i := range l.floats {
		l.floats[i] = append(l.floats[i][:0], o.floats[i]...)
	}
	for i := range l.indices {
		l.indices[i] = append(l.indices[i][:0], o.indices[i]...)
	}
}

// BenchmarkCopy compares a copy of 43 fields with assignments and appends written by hand.
func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{8, 64, 1024} {
		src, dst := newLarge(n), newLarge(n)
		b.Run(fmt.Sprintf("codec/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, state.Copy(dst, src))
			}
		})
		b.Run(fmt.Sprintf("hand/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst.byHand(src)
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	src := newLarge(1024)
	buf := saved(b, src)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		var err error
		if buf, err = state.Append(buf[:0], kind, src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	src := newLarge(1024)
	buf := saved(b, src)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		must.Do(b, state.Load(buf, kind, src))
	}
}
