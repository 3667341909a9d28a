package workload

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The first streams of a copied source equal the source's; further ones have the same process and independent draws.
func TestCopies(t *testing.T) {
	c := Default()
	c.Kind, c.Streams, c.Length = Calibrated, StreamsFunction, 40
	s, err := Open(c)
	must.Do(t, err)
	const times = 40
	own := s.Streams()
	many, err := s.Copies(times*own + 3)
	must.Do(t, err)
	one, err := s.Arrivals(5)
	must.Do(t, err)
	all, err := many.Arrivals(5)
	must.Do(t, err)
	total := make([]int, times+1)
	same, n := 0, 0
	for a, ok := all.Next(); ok; a, ok = all.Next() {
		if int(a.Stream) < own {
			b, ok := one.Next()
			if !ok || a != b {
				t.Fatalf("arrival %d of the first copy is %+v, want %+v", n, a, b)
			}
			n++
		}
		total[int(a.Stream)/own]++
	}
	if _, more := one.Next(); more || n == 0 {
		t.Fatalf("the first copy ends after %d arrivals", n)
	}
	var mean, square float64
	for _, x := range total[:times] {
		mean += float64(x) / times
	}
	for _, x := range total[:times] {
		square += (float64(x) - mean) * (float64(x) - mean) / (times - 1)
		if x == total[0] {
			same++
		}
	}
	expected := 0.0
	for i := range own {
		for m := range s.Minutes() {
			expected += s.Expected(i, m)
			if got, want := many.Expected(own+i, m), s.Expected(i, m); got != want {
				t.Fatalf("stream %d expects %g in minute %d, want %g", own+i, got, m, want)
			}
		}
	}
	// Four standard errors: a correct process fails once in 16,000.
	if half := 4 * math.Sqrt(square/times); math.Abs(mean-expected) > half || half > 0.5*expected {
		t.Errorf("copies have %g arrivals on average ± %g, want %g", mean, half, expected)
	}
	if same > times/2 {
		t.Errorf("%d of %d copies have as many arrivals as the first: their draws are its own", same, times)
	}

	if err := all.CopyFrom(one); err == nil {
		t.Error("the arrivals of the source were taken for those of its copies")
	}
	if _, err := s.Copies(0); err == nil || !strings.Contains(err.Error(), "want 1 to") {
		t.Errorf("no copies: %v", err)
	}
	c.Kind = ClosedLoop
	if s, err = Open(c); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Copies(2); err == nil || !strings.Contains(err.Error(), "want an open-loop kind") {
		t.Errorf("copies of users: %v", err)
	}
}

// BenchmarkCopies gives the time of an arrival among those of 50,000 functions.
func BenchmarkCopies(b *testing.B) {
	c := Default()
	c.Kind, c.Streams = Calibrated, StreamsFunction
	s, err := Open(c)
	must.Do(b, err)
	if s, err = s.Copies(50_000); err != nil {
		b.Fatal(err)
	}
	a, err := s.Arrivals(1)
	must.Do(b, err)
	a.SeekTo(600 * Minute)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := a.Next(); !ok {
			b.Fatal("the day ended")
		}
	}
}
