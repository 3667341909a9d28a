package sizing

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// bench steps an environment under its initial configuration.
func bench(b *testing.B, c Config, w workload.Config) {
	e := must.Get(New(c, w))(b)
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = 0.5
	}
	reset := func() {
		must.Do(b, e.Reset(1, nil, obs))
		out.Truncated = false
	}
	step := func() {
		if out.Truncated {
			reset()
		}
		must.Do(b, e.Step(act, obs, out))
	}
	reset()
	for range c.Windows { // warm up on the episode that is measured
		step()
	}
	requests := 0.0
	b.ReportAllocs()
	for b.Loop() {
		step()
		requests += out.Info[9]
	}
	b.ReportMetric(requests/float64(b.N), "requests/op")
}

func BenchmarkStepTrace(b *testing.B) { bench(b, Default(), DefaultWorkload()) }

func BenchmarkStepUsers(b *testing.B) { bench(b, Default(), closed(10)) }

func BenchmarkStepTcktApp(b *testing.B) {
	c := Default()
	c.Workflow = TcktApp
	bench(b, c, closed(20))
}

// BenchmarkCopyFrom copies an environment at the start of an episode, and after ten windows under load.
func BenchmarkCopyFrom(b *testing.B) {
	for _, windows := range []int{0, 10} {
		b.Run(fmt.Sprintf("windows=%d", windows), func(b *testing.B) {
			c := Default()
			e := must.Get(New(c, DefaultWorkload()))(b)
			s := e.Spec()
			obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
			must.Do(b, e.Reset(1, nil, obs))
			for range windows {
				must.Do(b, e.Step(act, obs, out))
			}
			o := must.Get(New(c, DefaultWorkload()))(b)
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, o.CopyFrom(e))
			}
		})
	}
}

// BenchmarkObserver makes an observer, and observes a window by it: what a serving program does once, and in every
// window.
func BenchmarkObserver(b *testing.B) {
	c := DefaultCounted()
	c.Features, c.Windows = Described, 1
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			must.Get(NewObserver(CountedID, c, false))(b)
		}
	})
	b.Run("observe", func(b *testing.B) {
		e := must.Get(NewCounted(c, DefaultWorkload()))(b)
		obs, meters := envs.NewObservation(e.Spec()), make([]Meters, 1)
		must.Do(b, e.Reset(1, nil, obs))
		o := must.Get(NewObserver(CountedID, c, false))(b)
		meters[0] = *e.Meters()
		b.ReportAllocs()
		for b.Loop() {
			must.Do(b, o.Observe(meters, obs))
		}
	})
}
