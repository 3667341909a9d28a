package remote

import (
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
			for i := range c.ask.commands {
				c.ask.commands[i] = Begin
			}
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, c.step())
				for i := range c.envs {
					c.ask.commands[i] = Advance
					if !c.running[i] {
						c.ask.commands[i] = Begin
					}
				}
			}
			b.ReportMetric(float64(k.copies*b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}
