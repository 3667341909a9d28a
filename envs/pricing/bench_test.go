package pricing

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// runEpisode runs an episode of the pricing environment with prices and baselines as configured.
func runEpisode(tb testing.TB, e *Pricing, seed uint64, obs *envs.Observation, act *envs.Action, out *envs.Outcome) {
	tb.Helper()
	must.Do(tb, e.Reset(seed, nil, obs))
	static := NewStatic(e.Config())
	for out.Truncated = false; !out.Truncated; {
		must.Do(tb, static.Act(obs, act, true))
		must.Do(tb, e.Step(act, obs, out))
	}
}

// BenchmarkRun is a run of 40 windows of 60 slots under the paper's scheduler.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{64, 1024, 16384, 65536} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := Default()
			c.VGPUs = n
			for i := range c.Baselines {
				c.Baselines[i] *= n / 64
			}
			e := must.Get(New(c, workload.Default(), nil))(b)
			obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
			runEpisode(b, e, 1, obs, act, out)
			b.ReportAllocs()
			for b.Loop() {
				runEpisode(b, e, 1, obs, act, out)
			}
			b.ReportMetric(e.total[accArrived], "jobs/op")
		})
	}
}

// BenchmarkIdle is a run of the same 45 jobs a slot on more and more vGPUs: what is idle costs nothing.
func BenchmarkIdle(b *testing.B) {
	for _, n := range []int{64, 65536} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := Default()
			c.VGPUs, c.Demand.Mean = n, 45
			e := must.Get(New(c, workload.Default(), nil))(b)
			obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
			runEpisode(b, e, 1, obs, act, out)
			b.ReportAllocs()
			for b.Loop() {
				runEpisode(b, e, 1, obs, act, out)
			}
		})
	}
}

// BenchmarkSlot is one slot of the scheduling environment under a policy that does nothing.
func BenchmarkSlot(b *testing.B) {
	e := must.Get(NewSlots(Default(), workload.Default(), nil))(b)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	b.ReportAllocs()
	out.Truncated = true
	for b.Loop() {
		if out.Truncated {
			must.Do(b, e.Reset(1, nil, obs))
			out.Truncated = false
		}
		must.Do(b, e.Step(act, obs, out))
	}
}

func BenchmarkCopyFrom(b *testing.B) {
	e := must.Get(New(Default(), workload.Default(), nil))(b)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	runEpisode(b, e, 1, obs, act, out)
	o := must.Get(New(Default(), workload.Default(), nil))(b)
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, o.CopyFrom(e))
	}
}

// BenchmarkMoves is one slot of the scheduling environment under moves that change nothing.
func BenchmarkMoves(b *testing.B) {
	c := Default()
	c.Acts = ActsMoves
	e := must.Get(NewSlots(c, workload.Default(), nil))(b)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	for f := range act.Kinds[0] {
		act.Kinds[0][f] = MostOff
	}
	b.ReportAllocs()
	out.Truncated = true
	for b.Loop() {
		if out.Truncated {
			must.Do(b, e.Reset(1, nil, obs))
			out.Truncated = false
		}
		must.Do(b, e.Step(act, obs, out))
	}
}

// BenchmarkObserver makes an observer, and observes a window by it: what a serving program does once, and in every
// window.
func BenchmarkObserver(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			must.Get(NewObserver(Default()))(b)
		}
	})
	b.Run("observe", func(b *testing.B) {
		o := must.Get(NewObserver(Default()))(b)
		m, obs := &Meters{Tiers: make([]TierMeters, 3)}, envs.NewObservation(o.Spec())
		b.ReportAllocs()
		for b.Loop() {
			must.Do(b, o.Observe(m, obs))
		}
	})
}
