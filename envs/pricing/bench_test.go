package pricing

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// runEpisode runs an episode of the pricing environment with prices and baselines as configured.
func runEpisode(tb testing.TB, e *Pricing, seed uint64, obs *envs.Observation, act *envs.Action, out *envs.Outcome) {
	tb.Helper()
	if err := e.Reset(seed, nil, obs); err != nil {
		tb.Fatal(err)
	}
	static := NewStatic(e.Config())
	for out.Truncated = false; !out.Truncated; {
		if err := static.Act(obs, act, true); err != nil {
			tb.Fatal(err)
		}
		if err := e.Step(act, obs, out); err != nil {
			tb.Fatal(err)
		}
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
			e, err := New(c, workload.Default(), nil)
			if err != nil {
				b.Fatal(err)
			}
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
			e, err := New(c, workload.Default(), nil)
			if err != nil {
				b.Fatal(err)
			}
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
	e, err := NewSlots(Default(), workload.Default(), nil)
	if err != nil {
		b.Fatal(err)
	}
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	b.ReportAllocs()
	out.Truncated = true
	for b.Loop() {
		if out.Truncated {
			if err := e.Reset(1, nil, obs); err != nil {
				b.Fatal(err)
			}
			out.Truncated = false
		}
		if err := e.Step(act, obs, out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCopyFrom(b *testing.B) {
	e, err := New(Default(), workload.Default(), nil)
	if err != nil {
		b.Fatal(err)
	}
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	runEpisode(b, e, 1, obs, act, out)
	o, err := New(Default(), workload.Default(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := o.CopyFrom(e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMoves is one slot of the scheduling environment under moves that change nothing.
func BenchmarkMoves(b *testing.B) {
	c := Default()
	c.Acts = ActsMoves
	e, err := NewSlots(c, workload.Default(), nil)
	if err != nil {
		b.Fatal(err)
	}
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	for f := range act.Kinds[0] {
		act.Kinds[0][f] = MostOff
	}
	b.ReportAllocs()
	out.Truncated = true
	for b.Loop() {
		if out.Truncated {
			if err := e.Reset(1, nil, obs); err != nil {
				b.Fatal(err)
			}
			out.Truncated = false
		}
		if err := e.Step(act, obs, out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkObserver makes an observer, and observes a window by it: what a serving program does once, and in every
// window.
func BenchmarkObserver(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewObserver(Default()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("observe", func(b *testing.B) {
		o, err := NewObserver(Default())
		if err != nil {
			b.Fatal(err)
		}
		m, obs := &Meters{Tiers: make([]TierMeters, 3)}, envs.NewObservation(o.Spec())
		b.ReportAllocs()
		for b.Loop() {
			if err := o.Observe(m, obs); err != nil {
				b.Fatal(err)
			}
		}
	})
}
