package placement

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
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
			o := must.Get(NewObserver(c, workload.Default()))(b)
			var known Cluster
			benchmarkSteps(b, c, func(e *Env, obs *envs.Observation) {
				e.Cluster(&known)
				must.Do(b, o.Observe(&known, obs))
			})
		})
	}
}

// benchmarkSteps calls after at the end of each step.
func benchmarkSteps(b *testing.B, c Config, after func(*Env, *envs.Observation)) {
	e := must.Get(New(c, workload.Default()))(b)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	must.Do(b, e.Reset(0, nil, obs))
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
		must.Do(b, e.Step(act, obs, out))
		after(e, obs)
		if out.Terminated || out.Truncated {
			seed++
			must.Do(b, e.Reset(seed, nil, obs))
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
		must.Do(b, w.do(which, 0, node))
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
				must.Do(b, w.e.layout.MaskAfter(o, 0, partial[:i], masks[i]))
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
			e := must.Get(New(c, workload.Default()))(b)
			other := must.Get(e.System().Environment())(b)
			obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
			must.Do(b, e.Reset(0, nil, obs))
			sampler := must.Get(envs.NewActionSampler(e.Spec()))(b)
			stream := rng.NewStream(0, "actions")
			for e.now < 20_000_000 {
				must.Do(b, sampler.Sample(stream, obs, act))
				must.Do(b, e.Step(act, obs, out))
			}
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, other.CopyFrom(e))
			}
		})
	}
}

// BenchmarkObserver makes an observer, and observes a cluster by it in the middle of an episode: what a serving program
// does once, and at every decision.
func BenchmarkObserver(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			must.Get(NewObserver(Default(), workload.Default()))(b)
		}
	})
	b.Run("observe", func(b *testing.B) {
		o, text := crowd(b)
		c := must.Get(ParseCluster(text))(b)
		obs := envs.NewObservation(o.Spec())
		b.ReportAllocs()
		for b.Loop() {
			must.Do(b, o.Observe(c, obs))
		}
		b.ReportMetric(float64(len(c.Waiting)+len(c.Running)), "invocations")
	})
}
