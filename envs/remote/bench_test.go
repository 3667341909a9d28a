package remote

import (
	"encoding/binary"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// BenchmarkStep steps copies without pipes: of a small environment, and of one that sees graphs and has dependent masks.
func BenchmarkStep(b *testing.B) {
	for _, k := range []struct {
		name   string
		build  func() (envs.Env, error)
		copies int
	}{{"CartPole", cartPole, 256}, {"Placement", onGraphs, 16}} {
		b.Run(k.name, func(b *testing.B) {
			c := must.Get(newCopies(k.build, Options{Copies: k.copies, Substitute: true}))(b)
			body := make([]byte, k.copies)
			for i := range body {
				body[i] = Begin
			}
			body = must.Get(binary.Append(body, binary.NativeEndian, make([]uint64, k.copies)))(b)
			body = must.Get(binary.Append(body, binary.NativeEndian, c.act.Kinds[0]))(b)
			var dst, start []byte
			start = make([]byte, header)
			b.ReportAllocs()
			for b.Loop() {
				dst = must.Get(c.step(append(dst[:0], start...), body))(b)
				for i := range c.envs {
					body[i] = Advance
					if !c.running[i] {
						body[i] = Begin
					}
				}
			}
			b.ReportMetric(float64(k.copies*b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}
