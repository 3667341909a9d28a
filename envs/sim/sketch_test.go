package sim

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// Every time falls into a bucket whose middle is within the stated relative error, and buckets follow each other.
func TestBuckets(t *testing.T) {
	for b := 1; b <= maxSketchBits; b++ {
		tolerance := math.Pow(2, -float64(b+1))
		last := -1
		for v := uint64(0); v <= sketchTop; v += 1 + v/173 {
			i := bucket(v, b)
			if i < last || i >= sketchLen(b) {
				t.Fatalf("bits %d: %d falls into bucket %d after %d", b, v, i, last)
			}
			last = i
			if e := math.Abs(float64(bucketTime(i, b)) - float64(v)); e > tolerance*float64(v) {
				t.Fatalf("bits %d: %d reads as %d, off by %g", b, v, bucketTime(i, b), e/float64(v))
			}
		}
		for i := 1; i < sketchLen(b); i++ {
			if bucketTime(i, b) <= bucketTime(i-1, b) || bucket(uint64(bucketTime(i, b)), b) != i {
				t.Fatalf("bits %d: bucket %d reads as %d", b, i, bucketTime(i, b))
			}
		}
	}
}

func TestSketch(t *testing.T) {
	a, _ := NewSketch(6)
	b, _ := NewSketch(6)
	all, _ := NewSketch(6)
	var xs []Time
	k := rng.New(1, "sketch")
	for i := range uint64(5000) {
		x := Seconds(0.01 / (0.001 + k.With(i).Float64()))
		xs = append(xs, x)
		all.Add(x)
		if i%3 == 0 {
			a.Add(x)
		} else {
			b.Add(x)
		}
	}
	slices.Sort(xs)
	for _, q := range []float64{-1, 0, 0.01, 0.5, 0.75, 0.95, 0.999, 1, 2} {
		want := xs[min(max(int(math.Ceil(q*5000)), 1), 5000)-1]
		if got := all.Quantile(q); math.Abs(float64(got-want)) > float64(want)/128 {
			t.Errorf("quantile %v is %d, want %d within 1/128", q, got, want)
		}
	}
	above := 0
	for _, x := range xs {
		above += b2i(x > 20*Millisecond)
	}
	if got := all.FractionAbove(20 * Millisecond); math.Abs(got-float64(above)/5000) > 0.01 {
		t.Errorf("%v lie above 20 ms, want %v", got, float64(above)/5000)
	}
	if err := a.Merge(b); err != nil || a.N() != all.N() || !slices.Equal(a.counts, all.counts) || a.lo != all.lo ||
		a.hi != all.hi {
		t.Errorf("merged halves differ from the whole (%v)", err)
	}
	coarse, _ := NewSketch(2)
	if coarse.Merge(a) == nil {
		t.Error("sketches of different bits were merged")
	}
	coarse.Add(7)
	coarse.CopyFrom(a)
	if coarse.Quantile(0.5) != a.Quantile(0.5) || coarse.N() != a.N() {
		t.Error("a copy differs")
	}
	a.Reset()
	if a.Quantile(0.5) != 0 || a.N() != 0 || slices.Max(a.counts) != 0 || a.FractionAbove(0) != 0 {
		t.Error("a cleared sketch is not empty")
	}
	a.Add(-5)
	a.Add(Forever)
	if a.Quantile(0) != 0 || a.Quantile(1) < sketchTop/100*99 || a.Quantile(math.NaN()) != 0 {
		t.Error("times out of range are not held at the ends")
	}
	if _, err := NewSketch(0); err == nil {
		t.Error("a sketch of no bits was made")
	}
}
