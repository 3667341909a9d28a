package replay

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// fill adds rows n in which value j of column c is 100n + 10c + j.
func fill(t *testing.T, b *Buffer, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		r := b.Add()
		for c := range b.Columns() {
			for j := range r.Column(c) {
				r.Column(c)[j] = float32(100*n + 10*c + j)
			}
		}
	}
}

func newTestBuffer(t *testing.T, capacity int) *Buffer {
	t.Helper()
	b := must.Get(New([]Column{{"s", 4}, {"r", 1}}, capacity))(t)
	return b
}

func TestNewRefuses(t *testing.T) {
	if _, err := New([]Column{{"s", 1}}, 0); err == nil {
		t.Error("capacity 0 was accepted")
	}
	if _, err := New([]Column{{"s", 0}}, 1); err == nil {
		t.Error("width 0 was accepted")
	}
}

func TestRingOverwritesTheOldest(t *testing.T) {
	b := newTestBuffer(t, 3)
	fill(t, b, 0, 5)
	if b.Len() != 3 || b.First() != 2 || b.Next() != 5 || b.Capacity() != 3 {
		t.Errorf("holds %d rows [%d, %d) of %d, want 3 rows [2, 5) of 3", b.Len(), b.First(), b.Next(), b.Capacity())
	}
	got := make([]float32, 3)
	b.Gather(1, []int64{4, 2, 3}, 1, got)
	if want := []float32{410, 210, 310}; !slices.Equal(got, want) {
		t.Errorf("rewards are %v, want %v", got, want)
	}
}

func TestGatherByParts(t *testing.T) {
	b := newTestBuffer(t, 8)
	fill(t, b, 0, 4)
	got := make([]float32, 8)
	b.Gather(0, []int64{3, 1}, 2, got)
	// [parts, rows, width/parts]: first halves of rows 3 and 1, then their second halves.
	if want := []float32{300, 301, 100, 101, 302, 303, 102, 103}; !slices.Equal(got, want) {
		t.Errorf("gathered %v, want %v", got, want)
	}
}

func TestSampleIsUniformOverWhatIsHeld(t *testing.T) {
	b := newTestBuffer(t, 10)
	s := rng.NewStream(3, "sample")
	if b.Sample(s, make([]int64, 1)) == nil {
		t.Error("sampled an empty buffer")
	}
	fill(t, b, 0, 17)
	index := make([]int64, 100_000)
	must.Do(t, b.Sample(s, index))
	count := map[int64]int{}
	for _, i := range index {
		count[i]++
	}
	if len(count) != 10 {
		t.Fatalf("drew %d different rows, want 10", len(count))
	}
	for n := int64(7); n < 17; n++ {
		// Five standard deviations of a binomial with p = 0.1.
		if c := count[n]; c < 10_000-475 || c > 10_000+475 {
			t.Errorf("row %d drawn %d times of 100,000, want 10,000 ± 475", n, c)
		}
	}
}

func TestSavedRowsComeBack(t *testing.T) {
	b := newTestBuffer(t, 4)
	fill(t, b, 0, 6)
	c := newTestBuffer(t, 4)
	must.Do(t, c.Restore(b.First()))
	for n := b.First(); n < b.Next(); n++ {
		must.Do(t, c.SetRow(b.AppendRow(n, nil)))
	}
	if c.First() != b.First() || c.Next() != b.Next() {
		t.Errorf("restored rows [%d, %d), want [%d, %d)", c.First(), c.Next(), b.First(), b.Next())
	}
	if !slices.Equal(b.rows, c.rows) {
		t.Error("restored rows differ")
	}
	if err := c.SetRow(make([]byte, 3)); err == nil {
		t.Error("a row cut short was accepted")
	}
}

func TestAddAndSampleDoNotAllocate(t *testing.T) {
	b := newTestBuffer(t, 100)
	s := rng.NewStream(1, "allocations")
	index, dst := make([]int64, 16), make([]float32, 64)
	n := testing.AllocsPerRun(100, func() {
		b.Add().Column(0)[0] = 1
		_ = b.Sample(s, index)
		b.Gather(0, index, 2, dst)
	})
	if n != 0 {
		t.Errorf("adding, sampling and gathering allocate %g times", n)
	}
}

func BenchmarkSampleAndGather(b *testing.B) {
	buf := must.Get(New([]Column{{"s", 60}}, 100_000))(b)
	for range 100_000 {
		buf.Add()
	}
	s := rng.NewStream(1, "benchmark")
	index, dst := make([]int64, 64), make([]float32, 64*60)
	b.ReportAllocs()
	for b.Loop() {
		_ = buf.Sample(s, index)
		buf.Gather(0, index, 12, dst)
	}
}

func Example() {
	b, _ := New([]Column{{"observation", 2}, {"reward", 1}}, 1_000)
	for n := range 50 {
		row := b.Add()
		copy(row.Column(0), []float32{float32(n), float32(-n)})
		row.Column(1)[0] = 1
	}
	index := make([]int64, 8)
	if err := b.Sample(rng.NewStream(1, "minibatches"), index); err != nil {
		panic(err)
	}
	batch := make([]float32, 8*2)
	b.Gather(0, index, 1, batch)
}

func TestRows(t *testing.T) {
	b := newTestBuffer(t, 30)
	fill(t, b, 0, 40)
	index := make([]int64, 21)
	must.Do(t, b.Sample(rng.NewStream(1, "rows"), index))
	got := make([]float32, len(index)*b.Width())
	b.Rows(index, got)
	for i, n := range index {
		row := got[i*b.Width():][:b.Width()]
		for c, col := range b.Columns() {
			want := make([]float32, col.Width)
			b.Gather(c, []int64{n}, 1, want)
			if x := row[b.Offset(c):][:col.Width]; !slices.Equal(x, want) {
				t.Errorf("row %d, column %d is %v, want %v", n, c, x, want)
			}
		}
	}
	if n := testing.AllocsPerRun(10, func() { b.Rows(index, got) }); n != 0 {
		t.Errorf("allocates %g times", n)
	}
}

// BenchmarkRows takes rows from a buffer that no cache holds.
func BenchmarkRows(b *testing.B) {
	buf := must.Get(New([]Column{{"s", 135}}, 600_000))(b)
	for range buf.Capacity() {
		buf.Add().Column(0)[0] = 1
	}
	s := rng.NewStream(1, "rows")
	index, dst := make([]int64, 192), make([]float32, 192*135)
	b.SetBytes(int64(4 * len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, buf.Sample(s, index))
		buf.Rows(index, dst)
	}
}

// A buffer that grows past its first rows keeps them, and one that is restored may begin anywhere.
func TestGrows(t *testing.T) {
	for _, first := range []int{0, few + 3} {
		b, got := newTestBuffer(t, 2*few+10), make([]float32, 1)
		must.Do(t, b.Restore(int64(first)))
		fill(t, b, first, first+few+5)
		if b.Gather(1, []int64{int64(first)}, 1, got); got[0] != float32(100*first+10) {
			t.Errorf("from row %d on: its reward is %v", first, got[0])
		}
	}
}

// A buffer takes memory for the rows that come, not for all that it may hold.
func TestTakesMemoryForWhatIsHeld(t *testing.T) {
	b := must.Get(New([]Column{{"s", 4}}, maxNumbers/4))(t)
	for n := range 3 * few {
		b.Add().Column(0)[0] = float32(n)
	}
	if len(b.rows) > 4*4*few {
		t.Errorf("%d rows have memory for %d numbers", b.Len(), len(b.rows))
	}
	got := make([]float32, 4)
	for _, n := range []int64{0, few - 1, few, 2 * few, 3*few - 1} {
		if b.Gather(0, []int64{n}, 1, got); got[0] != float32(n) {
			t.Errorf("row %d is %v", n, got)
		}
	}
}
