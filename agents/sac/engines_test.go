package sac

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// The fused program of many agents, many components and several tiles does what plain Go does.
func TestKernelsAgreeWithPlainGo(t *testing.T) {
	k := envs.Kind{Name: "agent", Agents: 6, Observation: envs.Unbounded(11), Action: envs.NewBox(4, 0, 1)}
	p := must.Get(newProblem(&envs.Spec{ID: "test/Bench-v1", Kinds: []envs.Kind{k}}))(t)
	for _, shared := range []bool{false, true} {
		for _, batch := range []int{128, 37} {
			c := Default()
			c.Hidden, c.Batch, c.Shared = []int{64, 64}, batch, shared
			parameters := func(e nets.Engine) map[string][]float64 {
				u := must.Get(newUpdate(&c, &p, e, rng.New(1, "bench")))(t)
				s := rng.NewStream(2, "bench")
				for range 3 {
					for _, x := range []nets.Tensor{u.s, u.a, u.r, u.s2, u.noise, u.noise2} {
						draw(x, s.Norm)
					}
					draw(u.discount, func() float64 { return 0.5 })
					draw(u.present, func() float64 { return math.Round(s.Float64()*0.5 + 0.5) })
					must.Do(t, u.run())
				}
				out := map[string][]float64{"actor": numbers(u.actor.Params()), "critic 1": numbers(u.critics[0].Params()),
					"critic 2": numbers(u.critics[1].Params()), "target 2": numbers(u.targets[1].Params()),
					"temperature": numbers(u.temperature.Params()),
					"actor loss":  numbers(u.sums.actorLoss), "critic loss": numbers(u.sums.criticLoss),
					"entropy": numbers(u.sums.entropy)}
				return out
			}
			want := parameters(native.New(native.Options{DType: nets.Float64}))
			for _, threads := range []int{1, 2} {
				got := parameters(native.New(native.Options{Threads: threads}))
				for name, w := range want {
					for i, v := range w {
						if math.Abs(got[name][i]-v) > 2e-3*max(0.1, math.Abs(v)) {
							t.Fatalf("shared %v, batch %d, %d threads: %s: number %d is %g, plain Go has %g", shared, batch,
								threads, name, i, got[name][i], v)
						}
					}
				}
			}
		}
	}
}
