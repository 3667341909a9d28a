package workload

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// Counting digits gives the order that comparing gives, ties included, at any number of arrivals.
func TestSort(t *testing.T) {
	var s sorter
	for _, n := range []int{0, 1, 2, minRadix - 1, minRadix, minRadix + 1, 5 * minRadix, 3*minRadix + 7, 100_000} {
		for _, top := range []int{1, 50, int(Minute)} {
			k := rng.New(uint64(n), "sort").With(uint64(top))
			order := make([]uint64, n)
			for i := range order {
				order[i] = uint64(k.With(uint64(i)).IntN(top))<<orderBits | uint64(i)
			}
			if n > 2 {
				order[1], order[n/2] = uint64(Minute-1)<<orderBits|1, uint64(n/2)
			}
			want := slices.Clone(order)
			slices.Sort(want)
			if got := s.sort(order); !slices.Equal(got, want) {
				t.Errorf("%d arrivals within %d µs are not in order", n, top)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	var s sorter
	k := rng.New(1, "sort")
	drawn := make([]uint64, 120_000)
	for i := range drawn {
		drawn[i] = uint64(k.With(uint64(i)).IntN(int(Minute)))<<orderBits | uint64(i)
	}
	order := slices.Clone(drawn)
	b.ReportAllocs()
	for b.Loop() {
		copy(order, drawn)
		order = s.sort(order)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(drawn)), "ns/arrival")
}
