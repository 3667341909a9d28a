package sizing

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// bench steps an environment under its initial configuration.
func bench(b *testing.B, c Config, w workload.Config) {
	e, err := New(c, w)
	if err != nil {
		b.Fatal(err)
	}
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	for i := range act.Kinds[0] {
		act.Kinds[0][i] = 0.5
	}
	reset := func() {
		if err := e.Reset(1, nil, obs); err != nil {
			b.Fatal(err)
		}
		out.Truncated = false
	}
	step := func() {
		if out.Truncated {
			reset()
		}
		if err := e.Step(act, obs, out); err != nil {
			b.Fatal(err)
		}
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
			e, err := New(c, DefaultWorkload())
			if err != nil {
				b.Fatal(err)
			}
			s := e.Spec()
			obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
			if err := e.Reset(1, nil, obs); err != nil {
				b.Fatal(err)
			}
			for range windows {
				if err := e.Step(act, obs, out); err != nil {
					b.Fatal(err)
				}
			}
			o, err := New(c, DefaultWorkload())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := o.CopyFrom(e); err != nil {
					b.Fatal(err)
				}
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
			if _, err := NewObserver(CountedID, c, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("observe", func(b *testing.B) {
		e, err := NewCounted(c, DefaultWorkload())
		if err != nil {
			b.Fatal(err)
		}
		obs, meters := envs.NewObservation(e.Spec()), make([]Meters, 1)
		if err := e.Reset(1, nil, obs); err != nil {
			b.Fatal(err)
		}
		o, err := NewObserver(CountedID, c, false)
		if err != nil {
			b.Fatal(err)
		}
		meters[0] = *e.Meters()
		b.ReportAllocs()
		for b.Loop() {
			if err := o.Observe(meters, obs); err != nil {
				b.Fatal(err)
			}
		}
	})
}
