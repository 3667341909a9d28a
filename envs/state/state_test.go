package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

type point struct {
	X  float64
	On bool // a gap of seven bytes follows
	N  int
	h  int16
}

// gate is a part with a slice of its own.
type gate struct {
	taken int
	queue []uint64
}

func (g *gate) State(c *state.Codec) {
	state.Value(c, &g.taken)
	state.Slice(c, &g.queue)
}

// filter is a part that is known by an interface only.
type filter interface {
	CopyFrom(src filter) error
	AppendBinary(b []byte) ([]byte, error)
	UnmarshalBinary(b []byte) error
}

type mean struct{ sum byte }

func (m *mean) CopyFrom(src filter) error {
	o, ok := src.(*mean)
	if !ok {
		return fmt.Errorf("a %T", src)
	}
	*m = *o
	return nil
}

func (m *mean) AppendBinary(b []byte) ([]byte, error) { return append(b, m.sum), nil }

func (m *mean) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return errors.New("a mean of another length")
	}
	m.sum = b[0]
	return nil
}

// listed is a filter that lists its fields, so that it is taken as a part.
type listed struct {
	mean
	more int32
}

func (l *listed) State(c *state.Codec) {
	state.Value(c, &l.sum)
	state.Value(c, &l.more)
}

const kind = "test/World-v1"

// world has a field of every form.
type world struct {
	config uint64
	count  int
	small  [3]int8
	point  point
	noise  *rng.Stream
	points []point
	values []float64
	links  []int32
	words  []uint16
	marks  []bool
	prices []float32 // of a length that the configuration sets
	gates  []gate
	own    *listed
	filter filter
	custom []byte

	double int // follows from count
}

func newWorld() *world {
	return &world{config: 7, noise: rng.NewStream(1, "noise"), prices: make([]float32, 3), own: &listed{}, filter: &mean{}}
}

func (w *world) State(c *state.Codec) {
	c.Same("configuration", w.config)
	state.Value(c, &w.count)
	state.Fixed(c, w.small[:])
	state.Value(c, &w.point)
	state.Value(c, w.noise)
	state.Slice(c, &w.points)
	state.Slice(c, &w.values)
	state.Slice(c, &w.links)
	state.Slice(c, &w.words)
	state.Slice(c, &w.marks)
	state.Fixed(c, w.prices)
	state.Parts(c, &w.gates)
	state.Member[filter](c, w.own)
	state.Member(c, w.filter)
	if o := state.Source(c, &w.custom); o != nil {
		w.custom = append(w.custom[:0], *o...)
	}
	if c.Stored() {
		state.Slice(c, &w.custom)
	}
	if c.Loaded() {
		c.Check(w.count >= 0, "count is %d, want 0 or more", w.count)
	}
	if c.Filled() {
		w.double = 2 * w.count
	}
}

func full() *world {
	w := newWorld()
	w.count, w.small, w.point = 5, [3]int8{1, -2, 3}, point{X: math.Pi, On: true, N: -4, h: 9}
	w.noise.Uint64()
	w.points = []point{{X: 1, N: 2}, {On: true}}
	w.values, w.links, w.words, w.marks = []float64{1, math.Inf(-1)}, []int32{-1, 5, 6}, []uint16{513}, []bool{true, false}
	copy(w.prices, []float32{0.5, 1, 2})
	w.gates = []gate{{1, []uint64{3, 4}}, {}, {2, []uint64{math.MaxUint64}}}
	w.own.sum, w.own.more, w.filter.(*mean).sum = 3, 70000, 9
	w.custom, w.double = []byte("custom"), 10
	return w
}

func saved(t testing.TB, s state.Stater) []byte {
	t.Helper()
	b := must.Get(state.Append(nil, kind, s))(t)
	return b
}

func show(w *world) string {
	return fmt.Sprintf("%+v %+v %+v %+v", *w, *w.noise, *w.own, w.filter.(*mean).sum)
}

func same(t *testing.T, what string, a, b *world) {
	t.Helper()
	x, y := *a, *b
	x.noise, y.noise, x.own, y.own, x.filter, y.filter = nil, nil, nil, nil, nil, nil
	if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) || *a.noise != *b.noise || *a.own != *b.own ||
		*a.filter.(*mean) != *b.filter.(*mean) {
		t.Errorf("%s: %s, want %s", what, show(a), show(b))
	}
}

func TestRoundTrip(t *testing.T) {
	w := full()
	b := must.Get(state.Append([]byte("before"), kind, w))(t)
	if !bytes.HasPrefix(b, []byte("before")) {
		t.Fatal("Append overwrote what was there")
	}
	b = b[len("before"):]
	for _, o := range []*world{newWorld(), full()} { // an empty one, and one with a past
		must.Do(t, state.Load(b, kind, o))
		same(t, "loaded", o, w)
		if !bytes.Equal(saved(t, o), b) {
			t.Error("equal states give different bytes")
		}
	}
}

// Equal states give equal bytes whatever lies in the gaps of structs and behind the ends of slices.
func TestBytes(t *testing.T) {
	a, b := full(), full()
	b.points = append(b.points, point{X: 9})[:2]
	if !bytes.Equal(saved(t, a), saved(t, b)) {
		t.Error("equal states give different bytes")
	}
	x := must.Get(state.Fingerprint(a))(t)
	b.points[1].h++
	if y, err := state.Fingerprint(b); err != nil || x == y {
		t.Errorf("different states have fingerprint %x, %v", y, err)
	}
	// The bytes are the same on every machine.
	type row struct {
		A int8
		B int
		C bool
		D float32
	}
	var got plainOf[row]
	got.x = row{-1, 2, true, 1}
	want := "\xff" + "\x02\x00\x00\x00\x00\x00\x00\x00" + "\x01" + "\x00\x00\x80\x3f"
	if s := saved(t, &got); string(s[len(s)-4-len(want):len(s)-4]) != want {
		t.Errorf("%x, want %x before the checksum", s, want)
	}
}

// plainOf is a state of one value.
type plainOf[T any] struct{ x T }

func (p *plainOf[T]) State(c *state.Codec) { state.Value(c, &p.x) }

func TestCopy(t *testing.T) {
	src, dst := full(), newWorld()
	for range 3 {
		must.Do(t, state.Copy(dst, src))
		same(t, "copied", dst, src)
		src.gates = src.gates[:len(src.gates)-1]
		src.count++
		src.double += 2
		src.noise.Uint64()
	}
	before := saved(t, src)
	dst.values[0], dst.gates[0].queue[0], dst.custom[0], dst.own.more, dst.small[0] = 99, 99, 99, 99, 99
	dst.filter.(*mean).sum, dst.prices[0], dst.marks[1] = 99, 99, true
	dst.noise.Uint64()
	if !bytes.Equal(saved(t, src), before) {
		t.Error("a change of the copy changed the source")
	}
	if err := state.Copy(src, src); err != nil || !bytes.Equal(saved(t, src), before) {
		t.Errorf("a copy to itself: %v", err)
	}
}

func TestCopyAllocates(t *testing.T) {
	src, dst := full(), newWorld()
	if n := statetest.Allocations(func() {
		must.Do(t, state.Copy(dst, src))
	}); n != 0 {
		t.Errorf("a copy makes %g allocations, want none", n)
	}
}

// Several goroutines may copy from one source. Run with -race.
func TestCopyConcurrently(t *testing.T) {
	src := full()
	want := saved(t, src)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dst := newWorld()
			for range 100 {
				if err := state.Copy(dst, src); err != nil {
					t.Error(err)
				}
			}
			if b, err := state.Append(nil, kind, dst); err != nil || !bytes.Equal(b, want) {
				t.Errorf("another state than the source's, %v", err)
			}
		})
	}
	wg.Wait()
}

// pair is a state whose list differs from others'.
type pair struct {
	a int64
	b []float64
	n int
}

func (p *pair) State(c *state.Codec) {
	state.Value(c, &p.a)
	if p.n > 0 {
		state.Fixed(c, p.b)
	}
	for range p.n - 1 {
		state.Value(c, &p.a)
	}
}

func TestCopyRefused(t *testing.T) {
	dst, src := full(), newWorld()
	before := saved(t, dst)
	src.config = 8
	if err := state.Copy(dst, src); err == nil || !strings.Contains(err.Error(), "another configuration") {
		t.Errorf("another configuration: %v", err)
	}
	if !bytes.Equal(saved(t, dst), before) {
		t.Error("a refused copy changed the target")
	}
	for _, c := range []struct {
		dst, src state.Stater
		want     string
	}{
		{&pair{}, &plainOf[int32]{}, "a *int32 for field 0, want a *int64"},
		{&pair{n: 1, b: make([]float64, 2)}, &pair{n: 1, b: make([]float64, 3)}, "a slice has 3 elements, want 2"},
		{&pair{n: 2, b: []float64{}}, &pair{n: 1, b: []float64{}}, "only 2 fields, want more"},
		{&pair{n: 1, b: []float64{}}, &pair{n: 2, b: []float64{}}, "3 fields, want 2"},
		{&pair{}, full(), "for field 0, want a *int64"},
		{full(), &pair{}, "for field 0"},
	} {
		if err := state.Copy(c.dst, c.src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("copied to a %T from a %T: %v, want %q", c.dst, c.src, err, c.want)
		}
	}
}

func TestNotPlain(t *testing.T) {
	var p plainOf[*int]
	if _, err := state.Append(nil, kind, &p); err == nil || !strings.Contains(err.Error(), "a *int is not plain data") {
		t.Errorf("a pointer was saved: %v", err)
	}
	if _, err := state.Fingerprint(&plainOf[struct{ s string }]{}); err == nil {
		t.Error("a string has a fingerprint")
	}
	if _, err := state.Append(nil, strings.Repeat("x", 256), &pair{}); err == nil {
		t.Error("a kind of 256 bytes was saved")
	}
}

// broken is a filter that fails.
type broken struct{ mean }

func (*broken) CopyFrom(filter) error               { return errors.New("no copy") }
func (*broken) AppendBinary([]byte) ([]byte, error) { return nil, errors.New("no bytes") }

func TestMemberFails(t *testing.T) {
	w := full()
	w.filter = &broken{}
	if _, err := state.Append(nil, kind, w); err == nil || !strings.Contains(err.Error(), "no bytes") {
		t.Errorf("saved: %v", err)
	}
	if err := state.Copy(w, full()); err == nil || !strings.Contains(err.Error(), "no copy") {
		t.Errorf("copied: %v", err)
	}
}
