package placement

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// BenchmarkServerlessStep starts the first invocation that fits, on the first node that it fits, with the smallest amount; else it waits.
func BenchmarkServerlessStep(b *testing.B) {
	for _, load := range []float64{0.5, 1, 1.9} {
		b.Run(fmt.Sprintf("load=%g", load), func(b *testing.B) {
			c := DefaultServerless()
			c.Load = load
			e, err := NewServerless(c, workload.Default())
			if err != nil {
				b.Fatal(err)
			}
			obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
			if err := e.Reset(0, nil, obs); err != nil {
				b.Fatal(err)
			}
			seed := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				which, node := 0, 0
				for !obs.Kinds[0].Mask[which] {
					which++
				}
				if which < len(e.window) {
					f := e.calls[e.window[which]].function
					for e.pair(f, int32(node)).fit < 0 {
						node++
					}
				}
				act.Kinds[0][0], act.Kinds[0][1], act.Kinds[0][2] = float32(which), 0, float32(node)
				if err := e.Step(act, obs, out); err != nil {
					b.Fatal(err)
				}
				if out.Terminated || out.Truncated {
					seed++
					if err := e.Reset(seed, nil, obs); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
