package placement

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// BenchmarkStep starts the first invocation that fits, on the first node that it fits, with the smallest amount; else
// it waits. Each step's observation is that of the view, which the environment keeps up to date from event to event. By
// cluster, it is made a second time from a [Cluster] that is written after the step, as it would be without the view.
func BenchmarkStep(b *testing.B) {
	for _, load := range []float64{0.5, 1, 1.9} {
		c := Default()
		c.Load = load
		b.Run(fmt.Sprintf("load=%g", load), func(b *testing.B) {
			benchmarkSteps(b, c, func(*Env, *envs.Observation) {})
		})
		b.Run(fmt.Sprintf("load=%g/by cluster", load), func(b *testing.B) {
			o, err := NewObserver(c, workload.Default())
			if err != nil {
				b.Fatal(err)
			}
			var known Cluster
			benchmarkSteps(b, c, func(e *Env, obs *envs.Observation) {
				e.Cluster(&known)
				if err := o.Observe(&known, obs); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// benchmarkSteps calls after at the end of each step.
func benchmarkSteps(b *testing.B, c Config, after func(*Env, *envs.Observation)) {
	e, err := New(c, workload.Default())
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
			f := e.invocations[e.window[which]].function
			for e.fitting(f)[node] == 0 {
				node++
			}
		}
		act.Kinds[0][0], act.Kinds[0][1], act.Kinds[0][2] = float32(which), 0, float32(node)
		if err := e.Step(act, obs, out); err != nil {
			b.Fatal(err)
		}
		after(e, obs)
		if out.Terminated || out.Truncated {
			seed++
			if err := e.Reset(seed, nil, obs); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkMaskAfter is the three masks of a decision, read from an observation in which 64 invocations wait.
func BenchmarkMaskAfter(b *testing.B) {
	c := Default()
	c.Load, c.Workload = 1.9, Poisson
	w := newWorld(b, c)
	// The smallest amounts of what fits, until the window is full.
	for len(w.e.window) < c.Window || !w.e.placeable() {
		which, node := w.e.layout.Wait(), 0
		for i, ok := range w.obs.Kinds[0].Mask[:len(w.e.window)] {
			if ok && len(w.e.window) < c.Window/2 {
				which = i
				break
			}
		}
		if which < w.e.layout.Wait() {
			for w.e.fitting(w.e.invocations[w.e.window[which]].function)[node] == 0 {
				node++
			}
		}
		if err := w.do(which, 0, node); err != nil {
			b.Fatal(err)
		}
	}
	o := &w.obs.Kinds[0]
	masks := [][]bool{make([]bool, w.e.layout.Wait()+1), make([]bool, len(c.Amounts)), make([]bool, len(w.e.nodes))}
	first := 0
	for !o.Mask[first] {
		first++
	}
	partial := []float32{float32(first), 0}
	for i, name := range []string{"invocation", "amount", "node"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := w.e.layout.MaskAfter(o, 0, partial[:i], masks[i]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCopy copies an environment after some seconds of an episode, as planners and counterfactual learners do
// for each choice.
func BenchmarkCopy(b *testing.B) {
	for _, load := range []float64{0.5, 1, 1.9} {
		b.Run(fmt.Sprintf("load=%g", load), func(b *testing.B) {
			c := Default()
			c.Load = load
			e, err := New(c, workload.Default())
			if err != nil {
				b.Fatal(err)
			}
			other, err := e.System().Environment()
			if err != nil {
				b.Fatal(err)
			}
			obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
			if err := e.Reset(0, nil, obs); err != nil {
				b.Fatal(err)
			}
			sampler, err := envs.NewActionSampler(e.Spec())
			if err != nil {
				b.Fatal(err)
			}
			stream := rng.NewStream(0, "actions")
			for e.now < 20_000_000 {
				if err := sampler.Sample(stream, obs, act); err != nil {
					b.Fatal(err)
				}
				if err := e.Step(act, obs, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := other.CopyFrom(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkObserver makes an observer, and observes a cluster by it in the middle of an episode: what a serving program
// does once, and at every decision.
func BenchmarkObserver(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewObserver(Default(), workload.Default()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("observe", func(b *testing.B) {
		o, text := crowd(b)
		c, err := ParseCluster(text)
		if err != nil {
			b.Fatal(err)
		}
		obs := envs.NewObservation(o.Spec())
		b.ReportAllocs()
		for b.Loop() {
			if err := o.Observe(c, obs); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(c.Waiting)+len(c.Running)), "invocations")
	})
}
