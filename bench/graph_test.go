package bench

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/nets/engines"
)

func BenchmarkGraph(b *testing.B) {
	e, err := engines.Open(engines.Native, engines.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, edges := range []int{1_000, 10_000, 100_000, 1_000_000} {
		r, err := newGraphRun(e, 64, edges)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range []struct {
			name string
			do   func() error
		}{{"infer", r.infer}, {"step", r.step}} {
			b.Run(fmt.Sprintf("%d/%s", edges, f.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f.do(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(edges), "ns/edge")
			})
		}
	}
}
