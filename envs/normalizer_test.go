package envs_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func TestNormalizerStandardises(t *testing.T) {
	n := must.Get(envs.NewNormalizer(2, 10))(t)
	// Mean 2, variance 2/3; a constant.
	rows := []float32{1, 7, 2, 7, 3, 7}
	n.Update(rows)
	got := make([]float32, 6)
	n.Apply(got, rows)
	z := float32(math.Sqrt(1.5))
	for i, want := range []float32{-z, 0, 0, 0, z, 0} {
		if math.Abs(float64(got[i]-want)) > 1e-6 {
			t.Errorf("value %d is %g, want %g", i, got[i], want)
		}
	}
	n.Apply(got[:2], []float32{1000, -1000})
	if got[0] != 10 || got[1] != -10 {
		t.Errorf("outliers became %g, %g, want the bounds", got[0], got[1])
	}
}

func TestNormalizerMatchesTwoPasses(t *testing.T) {
	s := rng.NewStream(1, "normalizer")
	x := make([]float32, 10_000)
	var sum float64
	for i := range x {
		x[i] = float32(1e3 + s.Norm())
		sum += float64(x[i])
	}
	mean := sum / float64(len(x))
	var m2 float64
	for _, v := range x {
		m2 += (float64(v) - mean) * (float64(v) - mean)
	}
	n := must.Get(envs.NewNormalizer(1, 10))(t)
	n.Update(x)
	shift, scale := n.Affine()
	if want := 1 / math.Sqrt(m2/float64(len(x))); math.Abs(float64(scale[0])-want) > 1e-6*want {
		t.Errorf("scale is %g, want %g", scale[0], want)
	}
	if math.Abs(float64(shift[0])-mean) > 1e-4 {
		t.Errorf("shift is %g, want %g", shift[0], mean)
	}
}

func TestNormalizerFrozenAndSaved(t *testing.T) {
	n, _ := envs.NewNormalizer(1, 10)
	n.Update([]float32{1, 2, 4})
	b := must.Get(n.AppendBinary(nil))(t)
	m, _ := envs.NewNormalizer(1, 10)
	must.Do(t, m.UnmarshalBinary(b))
	n.Update([]float32{9})
	m.Update([]float32{9})
	a, c := []float32{3}, []float32{3}
	n.Apply(a, a)
	m.Apply(c, c)
	if a[0] != c[0] {
		t.Errorf("restored normalizer gives %g, want %g", c[0], a[0])
	}
	n.Freeze()
	n.Update([]float32{100, 200})
	n.Apply(c, []float32{3})
	if c[0] != a[0] {
		t.Errorf("a frozen normalizer gives %g, want %g", c[0], a[0])
	}
	for i := range b {
		if err := m.UnmarshalBinary(b[:i]); err == nil {
			t.Errorf("a state cut at %d was accepted", i)
		}
	}
	if w, _ := envs.NewNormalizer(2, 1); w.UnmarshalBinary(b) == nil {
		t.Error("a state of another width was accepted")
	}
}

// Statistics that come back from what Apply does with them do the same, and move slowly.
func TestNormalizerAdopt(t *testing.T) {
	from := must.Get(envs.NewNormalizer(4, 5))(t)
	s := rng.NewStream(1, "rows")
	for range 1000 {
		from.Update([]float32{float32(20 + 3*s.Norm()), float32(1e-3 * s.Norm()), 7, float32(1e-8 * s.Norm())})
	}
	shift, scale := from.Affine()
	to := must.Get(envs.NewNormalizer(4, 5))(t)
	must.Do(t, to.Adopt(shift, scale, 1e6))
	gotShift, gotScale := to.Affine()
	if !slices.Equal(gotShift, shift) || !slices.Equal(gotScale, scale) || to.Count() != 1e6 {
		t.Errorf("%v, %v of %g rows, want %v, %v of 1e6", gotShift, gotScale, to.Count(), shift, scale)
	}
	to.Update([]float32{1e3, 0, 7, 0})
	if moved, _ := to.Affine(); !(moved[0] > shift[0] && moved[0] < shift[0]+0.01) {
		t.Errorf("a row of 1000 moves the mean from %g to %g", shift[0], moved[0])
	}
	for _, c := range []struct {
		shift, scale []float32
		count        float64
	}{{shift[:2], scale[:2], 1}, {shift, scale, 0}, {shift, []float32{1, 0, 1, 1}, 1},
		{shift, []float32{1, float32(math.NaN()), 1, 1}, 1}, {[]float32{float32(math.Inf(1)), 0, 0, 0}, scale, 1}} {
		before := must.Get(to.AppendBinary(nil))(t)
		if err := to.Adopt(c.shift, c.scale, c.count); err == nil || !bytes.Equal(must.Get(to.AppendBinary(nil))(t), before) {
			t.Errorf("%v, %v, %g: error %v, want one, and the statistics as they were", c.shift, c.scale, c.count, err)
		}
	}
}
