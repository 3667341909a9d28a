package deeprm

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// BenchmarkStep starts the first job that fits, else moves on.
func BenchmarkStep(b *testing.B) {
	for _, form := range []string{Compact, Image} {
		b.Run(form, func(b *testing.B) {
			c := Default()
			c.Observation = form
			p := play(b, c, 0, nil)
			mask := p.obs.Kinds[0].Mask
			b.ReportAllocs()
			seed := uint64(0)
			for b.Loop() {
				a := 0
				for !mask[a] {
					a++
				}
				p.act.Kinds[0][0] = float32(a)
				must.Do(b, p.env.Step(p.act, p.obs, p.out))
				if p.ended() {
					seed++
					must.Do(b, p.env.Reset(seed, nil, p.obs))
				}
			}
		})
	}
}

// BenchmarkCopy copies an environment in the middle of an episode, as planners do for each choice.
func BenchmarkCopy(b *testing.B) {
	for _, form := range []string{Compact, Image} {
		b.Run(form, func(b *testing.B) {
			c := Default()
			c.Observation, c.Rate = form, 1
			p, q := play(b, c, 0, nil), play(b, c, 0, nil)
			for range 60 {
				p.do(slices.Index(p.obs.Kinds[0].Mask, true))
			}
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, q.env.CopyFrom(p.env))
			}
		})
	}
}
