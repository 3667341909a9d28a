package deeprm

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/deeprm"
)

// BenchmarkStep plays whole episodes, environment and rule together, and reports the time per step.
func BenchmarkStep(b *testing.B) {
	for _, form := range []string{deeprm.Compact, deeprm.Image} {
		for _, r := range rules {
			b.Run(form+"/"+r.name, func(b *testing.B) {
				c := compact()
				c.Observation = form
				w := newWorld(b, c, r)
				seed := uint64(0)
				w.reset(seed)
				b.ReportAllocs()
				for b.Loop() {
					if w.step(); w.ended() {
						seed++
						w.reset(seed)
					}
				}
			})
		}
	}
}
