package rng

import (
	"math"
	"slices"
	"testing"
)

// Every draw below must stay what it is: golden traces and resumed runs rest on these numbers.
func TestGolden(t *testing.T) {
	k := New(1, "golden")
	got := []uint64{k.Uint64(), k.With(0).Uint64(), k.With(1).Uint64(), k.With(1).With(2).Uint64(),
		k.With(2).With(1).Uint64()}
	want := goldenKeys
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("draw %d is %#x, was %#x", i, got[i], want[i])
		}
	}
	s := NewStream(1, "golden")
	for i, w := range goldenStream {
		if g := s.Uint64(); g != w {
			t.Errorf("stream draw %d is %#x, was %#x", i, g, w)
		}
	}
}

// Means, variances and lagged correlations of n draws over chained coordinates, each within five standard errors.
func TestMoments(t *testing.T) {
	const n = 1 << 18
	k := New(3, "moments")
	for name, c := range map[string]struct {
		draw           func(Key) float64
		mean, variance float64
	}{
		"float64": {Key.Float64, 0.5, 1.0 / 12},
		"open":    {Key.Open, 0.5, 1.0 / 12},
		"exp":     {Key.Exp, 1, 1},
		"norm":    {Key.Norm, 0, 1},
		"intn":    {func(k Key) float64 { return float64(k.IntN(7)) }, 3, 4},
	} {
		var sum, sq, lag, prev float64
		for i := range uint64(n) {
			x := c.draw(k.With(i/512).With(i%512)) - c.mean
			sum += x
			sq += x * x
			lag += x * prev
			prev = x
		}
		if m, e := sum/n, 5*math.Sqrt(c.variance/n); math.Abs(m) > e {
			t.Errorf("%s: mean is off by %g, more than %g", name, m, e)
		}
		if r := sq / n / c.variance; math.Abs(r-1) > 0.03 {
			t.Errorf("%s: variance is %g times the law's", name, r)
		}
		if r, e := lag/n/c.variance, 5/math.Sqrt(n); math.Abs(r) > e {
			t.Errorf("%s: neighbours correlate by %g, more than %g", name, r, e)
		}
	}
}

// Words are SplitMix64's, from a number of the stream on: 0x6e789e6aa1b965f4 is the second that Vigna's splitmix64.c
// gives from state 0.
func TestWords(t *testing.T) {
	const n = 1 << 18
	s := NewStream(4, "words")
	x := *s
	words := make([]uint32, n)
	s.Words(words)
	at := x.Uint64()
	if y := mix(at, splitMix); words[0] != uint32(y>>32) || words[1] != uint32(y) {
		t.Errorf("the first words are %#x %#x, want those of %#x", words[0], words[1], y)
	}
	if got := mix(splitMix, splitMix); got != 0x6e789e6aa1b965f4 {
		t.Errorf("the second number from state 0 is %#x", got)
	}
	if *s != x {
		t.Errorf("the stream stands at %+v, want %+v: one number on", *s, x)
	}
	var bits [32]float64
	var lag float64
	prev := 0.0
	for _, w := range words {
		for b := range bits {
			bits[b] += float64(w >> b & 1)
		}
		u := float64(w)/(1<<32) - 0.5
		lag += u * prev
		prev = u
	}
	for b, sum := range bits {
		if math.Abs(sum/n-0.5) > 5*0.5/math.Sqrt(n) {
			t.Errorf("bit %d is 1 in %g of all words", b, sum/n)
		}
	}
	if r := lag / n * 12; math.Abs(r) > 5/math.Sqrt(n) {
		t.Errorf("neighbours correlate by %g", r)
	}
	odd, even := make([]uint32, 7), make([]uint32, 8)
	y := x
	x.Words(odd)
	y.Words(even)
	if !slices.Equal(odd, even[:7]) {
		t.Errorf("seven words are %x, want the first of %x", odd, even)
	}
	x.Words(nil)
	z := x
	from := z.Uint64()
	x.Words(even)
	for at := range even {
		for end := at; end <= len(even); end++ {
			part := make([]uint32, end-at)
			if WordsFrom(from, at, part); !slices.Equal(part, even[at:end]) {
				t.Errorf("words %d to %d are %x, want those of %x", at, end, part, even)
			}
		}
	}
}

// Each input bit of a coordinate flips every output bit about half the time.
func TestAvalanche(t *testing.T) {
	const n = 4096
	k := New(9, "avalanche")
	for in := range 64 {
		var flips [64]int
		for i := range uint64(n) {
			x := k.With(i).Uint64() ^ k.With(i^1<<in).Uint64()
			for out := range 64 {
				flips[out] += int(x >> out & 1)
			}
		}
		for out, f := range flips {
			// Six standard deviations: 4096 pairs of bits are tested.
			if d := math.Abs(float64(f) - n/2); d > 6*math.Sqrt(n)/2 {
				t.Errorf("input bit %d flips output bit %d %d times of %d", in, out, f, n)
			}
		}
	}
}

func TestStreamResumes(t *testing.T) {
	s := NewStream(5, "resume")
	for range 10 {
		s.Uint64()
	}
	b, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var r Stream
	if err := r.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if a, b := s.Norm(), r.Norm(); a != b {
			t.Fatalf("resumed stream gives %g, want %g", b, a)
		}
	}
	if r.UnmarshalBinary(b[:20]) == nil || r.UnmarshalBinary(make([]byte, streamBytes)) == nil {
		t.Error("a cut or empty state was accepted")
	}
}

func BenchmarkKey(b *testing.B) {
	b.ReportAllocs()
	k, sum := New(1, "bench"), uint64(0)
	for i := range b.N {
		sum += k.With(uint64(i)).With(3).Uint64()
	}
	_ = sum
}

func BenchmarkWords(b *testing.B) {
	s, words := NewStream(1, "bench"), make([]uint32, 4096)
	b.SetBytes(int64(4 * len(words)))
	b.ReportAllocs()
	for b.Loop() {
		s.Words(words)
	}
}
