package workload

import (
	"math"
	"slices"
	"testing"
)

func ramp(minutes int) *Trace {
	t := &Trace{Name: "ramp", Minutes: minutes}
	up, two := make([]uint32, minutes), make([]uint32, minutes)
	for m := range minutes {
		up[m], two[m] = uint32(m), 2
	}
	t.Functions = []Function{{Name: "up", Counts: up}, {Name: "two", Counts: two}}
	return t
}

func TestCutAndSplit(t *testing.T) {
	tr := ramp(10)
	c, err := tr.Cut(Range{2, 5})
	if err != nil || c.Minutes != 3 || !slices.Equal(c.PerMinute(nil), []uint64{4, 5, 6}) {
		t.Fatalf("cut to %v (%v)", c, err)
	}
	if tr.Minutes != 10 || tr.Total() != 65 {
		t.Error("cutting changed the trace")
	}
	if all, err := tr.Cut(Range{}); err != nil || all != tr {
		t.Error("the zero range is not all")
	}
	for _, r := range []Range{{-1, 3}, {3, 3}, {5, 3}, {0, 11}} {
		if _, err := tr.Cut(r); err == nil {
			t.Errorf("cut to %v", r)
		}
	}
	for share, want := range map[float64]int{0.7: 7, 0.01: 1, 0.999: 9} {
		train, test, err := tr.Split(share)
		if err != nil || train.Minutes != want || test.Minutes != 10-want || train.Total()+test.Total() != tr.Total() {
			t.Errorf("split at %v into %d and %d minutes (%v)", share, train.Minutes, test.Minutes, err)
		}
	}
	for _, share := range []float64{0, 1, -1, math.NaN()} {
		if _, _, err := tr.Split(share); err == nil {
			t.Errorf("split at %v", share)
		}
	}
	if _, _, err := ramp(1).Split(0.5); err == nil {
		t.Error("a single minute was split")
	}
}

// Figures of 1, 3, 1, 3, … by hand: mean 2, variance 1; pairs never vary; neighbours are opposed but for the ends.
func TestDescribe(t *testing.T) {
	counts := make([]uint64, 120)
	for m := range counts {
		counts[m] = uint64(1 + m%2*2)
	}
	s := Describe(counts)
	if s.Total != 240 || s.Mean != 2 || s.Peak != 3 || s.Idle != 0 || s.CV != 0.5 || s.Dispersion != 0.5 ||
		s.Dispersion10 != 0 || !nearly(s.Lag1, -119.0/120) {
		t.Errorf("described as %+v", s)
	}
	if s := Describe(make([]uint64, 5)); s.Idle != 1 || s.CV != 0 || s.Dispersion != 0 || s.Lag1 != 0 {
		t.Errorf("nothing described as %+v", s)
	}
	if s := Describe(nil); s != (Stats{}) {
		t.Errorf("no minutes described as %+v", s)
	}
}

func TestKS(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{3, 1, 2}, 0},
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{1, 2, 3, 4}, []float64{3, 4, 5, 6}, 0.5},
		{[]float64{0, 0, 0, 1}, []float64{0, 1}, 0.25},
		{nil, nil, 0},
		{nil, []float64{1}, 1},
	} {
		if got := KS(c.a, c.b); got != c.want {
			t.Errorf("KS of %v and %v is %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
