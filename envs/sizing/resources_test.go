package sizing

import (
	"testing"

	"pgregory.net/rapid"
)

// FaaSConf's mapping, by hand.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		r    *Range
		a    []float32
		want Resources
	}{
		{&mlRange, []float32{0, 0, 0, 0}, Resources{250, 256, 1, 1}},
		{&mlRange, []float32{1, 1, 1, 1}, Resources{2000, 2048, 8, 10}},
		{&mlRange, []float32{0.5, 0.5, 0.5, 0.5}, Resources{1125, 1152, 4, 5}},
		{&mlRange, []float32{0.2, 0.2, 0.2, 0.2}, Resources{600, 614, 2, 2}},
		// replicas and concurrency are cut
		{&mlRange, []float32{0.9999, 0.9999, 0.9999, 0.9999}, Resources{2000, 2048, 7, 9}},
		{&ticketRange, []float32{0, 0, 0}, Resources{250, 128, 1, 1}},
		{&ticketRange, []float32{1, 1, 1}, Resources{1000, 1024, 8, 1}},
	} {
		if got := c.r.Decode(c.a); got != c.want {
			t.Errorf("%v stands for %+v, want %+v", c.a, got, c.want)
		}
	}
}

// What is encoded stands for what was meant, for every configuration there is; what is outside the range is brought
// into it.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rapid.SampledFrom([]*Range{&mlRange, &ticketRange}).Draw(rt, "range")
		want := Resources{
			CPU:         rapid.IntRange(r.Low.CPU, r.High.CPU).Draw(rt, "cpu"),
			Memory:      rapid.IntRange(r.Low.Memory, r.High.Memory).Draw(rt, "memory"),
			Replicas:    rapid.IntRange(r.Low.Replicas, r.High.Replicas).Draw(rt, "replicas"),
			Concurrency: rapid.IntRange(r.Low.Concurrency, r.High.Concurrency).Draw(rt, "concurrency"),
		}
		a := make([]float32, r.Components())
		r.Encode(want, a)
		for i, x := range a {
			if !(x >= 0 && x <= 1) {
				rt.Fatalf("component %d of %+v is %g", i, want, x)
			}
		}
		if got := r.Decode(a); got != want {
			rt.Fatalf("%+v came back as %+v", want, got)
		}
	})
	a := make([]float32, 4)
	mlRange.Encode(Resources{1, 1 << 20, 0, 99}, a)
	if got, want := mlRange.Decode(a), (Resources{250, 2048, 1, 10}); got != want {
		t.Errorf("outside the range: %+v, want %+v", got, want)
	}
}
