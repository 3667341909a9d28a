package placement

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs/placement"
)

// BenchmarkStep is one decision and one environment step, graph included.
func BenchmarkStep(b *testing.B) {
	for _, load := range []float64{0.7, 1.9} {
		for _, r := range rules {
			b.Run(fmt.Sprintf("%s/load=%g", r.name, load), func(b *testing.B) {
				c := placement.Default()
				c.Load = load
				w := newWorld(b, c, r)
				seed := uint64(0)
				w.reset(seed, nil)
				b.ReportAllocs()
				for b.Loop() {
					w.step()
					if w.ended() {
						seed++
						w.reset(seed, nil)
					}
				}
			})
		}
	}
}
