package placement

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// check counts everything anew from requests and invocations, and compares.
func (e *Env) check() error {
	n := len(e.nodes)
	var used [NumResources]int64
	free, running := make([]vector, n), make([]int32, n)
	for i := range free {
		free[i] = e.s.nodes[i].capacity
	}
	pairs := make([]pair, len(e.pairs))
	rate, weight := int64(0), int64(0)
	for _, i := range e.active {
		v := &e.invocations[i]
		f := &e.s.functions[v.function]
		for r, x := range f.demand[v.amount] {
			free[v.node][r] -= x
			used[r] += int64(x)
		}
		pairs[int(v.function)*n+int(v.node)].running++
		running[v.node]++
		rate += e.priced(f.cost[v.amount], v.node)
	}
	warm := make([]int32, n)
	for k, x := range e.idle {
		if k > 0 && x.expires < e.idle[k-1].expires || x.expires <= e.now {
			return fmt.Errorf("instance %d expires at %d, after one before it or in the past", k, x.expires)
		}
		f := &e.s.functions[x.function]
		free[x.node][Memory] -= f.demand[0][Memory]
		warm[x.node] += f.demand[0][Memory]
		pairs[int(x.function)*n+int(x.node)].idle++
		rate += e.priced(f.idle, x.node)
	}
	for i := range n {
		if free[i] != e.nodes[i].free || warm[i] != e.nodes[i].warm || running[i] != e.nodes[i].running {
			return fmt.Errorf("node %d is %+v, want %v free, %d warm and %d running", i, e.nodes[i], free[i], warm[i],
				running[i])
		}
		for r, x := range free[i] {
			if x < 0 {
				return fmt.Errorf("node %d has %d of %s left", i, x, ResourceNames[r])
			}
		}
	}
	for f := range e.s.functions {
		fits := int32(0)
		for i := range n {
			p := &pairs[f*n+i]
			count := int8(0)
			for a, d := range e.s.functions[f].demand {
				if p.idle > 0 {
					d[Memory] = 0
				} else {
					d[Memory] -= warm[i]
				}
				if d.within(free[i]) {
					count = int8(a + 1)
				}
			}
			if *p != e.pairs[f*n+i] {
				return fmt.Errorf("function %d on node %d is %+v, want %+v", f, i, e.pairs[f*n+i], *p)
			}
			if got := e.fits[f*n+i]; got != count {
				return fmt.Errorf("%d amounts of function %d fit node %d, want %d", got, f, i, count)
			}
			if count > 0 {
				fits++
			}
			if bit := e.warm[f*e.layout.words()+i/64]>>(i%64)&1 == 1; bit != (p.idle > 0) {
				return fmt.Errorf("function %d on node %d is marked warm: %t, with %d idle", f, i, bit, p.idle)
			}
		}
		if fits != e.functions[f].fits {
			return fmt.Errorf("function %d fits %d nodes, want %d", f, e.functions[f].fits, fits)
		}
	}
	held := 0
	for i := range e.requests {
		if q := &e.requests[i]; q.left > 0 {
			weight += q.inverse
			held++
		}
	}
	if used != e.used || rate != e.rate || weight != e.weight || held != len(e.requests)-len(e.free) {
		return fmt.Errorf("used %v, rate %d, weight %d and %d requests, want %v, %d, %d and %d", e.used, e.rate, e.weight,
			len(e.requests)-len(e.free),
			used, rate, weight, held)
	}
	return nil
}

// checkMasks compares what the masks say with what fits, whole and after every beginning.
func (w *world) checkMasks() error {
	o, e := &w.obs.Kinds[0], w.e
	wait, amounts, n := e.layout.Wait(), len(e.c.Amounts), len(e.nodes)
	first, second, third := make([]bool, wait+1), make([]bool, amounts), make([]bool, n)
	union := make([]bool, len(o.Mask))
	waits := e.c.Hold
	if !waits {
		waits = true
		for _, i := range e.window {
			waits = waits && e.functions[e.invocations[i].function].fits == 0
		}
	}
	union[wait], union[wait+1], union[wait+1+amounts] = waits, waits, waits
	if err := e.layout.MaskAfter(o, 0, nil, first); err != nil {
		return err
	}
	for i := range wait {
		fits := i < len(e.window) && e.functions[e.invocations[e.window[min(i, len(e.window)-1)]].function].fits > 0
		if first[i] != fits {
			return fmt.Errorf("mask says %t of invocation %d, want %t", first[i], i, fits)
		}
		if !fits {
			continue
		}
		union[i] = true
		f := e.invocations[e.window[i]].function
		if err := e.layout.MaskAfter(o, 0, []float32{float32(i)}, second); err != nil {
			return err
		}
		for a := range amounts {
			any := false
			if second[a] {
				if err := e.layout.MaskAfter(o, 0, []float32{float32(i), float32(a)}, third); err != nil {
					return err
				}
			}
			for k := range n {
				ok := int(e.fitting(f)[k]) > a
				any = any || ok
				if second[a] && third[k] != ok {
					return fmt.Errorf("mask says %t of invocation %d with amount %d on node %d, want %t", third[k], i, a, k, ok)
				}
				if ok {
					union[wait+1+a], union[wait+1+amounts+k] = true, true
				}
			}
			if second[a] != any {
				return fmt.Errorf("mask says %t of invocation %d with amount %d, want %t", second[a], i, a, any)
			}
		}
	}
	for c := range union {
		if union[c] != o.Mask[c] {
			return fmt.Errorf("the observation's mask says %t of choice %d, want %t", o.Mask[c], c, union[c])
		}
	}
	return nil
}

// Whatever is decided, nothing is counted twice or lost, masks say what fits, and an episode's return is minus the
// weighted sums of what happened.
func TestInvariants(t *testing.T) {
	steps, worst := 0, 0.0
	for _, f := range forms {
		c := Default()
		f.change(&c)
		c.Seconds = 8
		c.Weights = Weights{Latency: 1}
		e := must.Get(New(c, workload.Default()))(t)
		w := &world{t, e, envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())}
		sampler := must.Get(envs.NewActionSampler(e.Spec()))(t)
		for seed := range uint64(3) {
			w.reset(seed)
			stream, sum, total := rng.NewStream(seed, "actions"), 0.0, 0.0
			var slowdowns []float64
			for k := 0; !w.out.Terminated && !w.out.Truncated || k == 0; k++ {
				must.Do(t, sampler.Sample(stream, w.obs, w.act))
				must.Do(t, e.Step(w.act, w.obs, w.out))
				steps++
				sum += float64(w.out.Rewards[0][0])
				slowdowns = e.AppendSamples(0, slowdowns[:0])
				for _, x := range slowdowns {
					total += x
				}
				err := e.check()
				if err == nil && k%7 == 0 {
					err = w.checkMasks()
				}
				if err != nil {
					t.Fatalf("%s, seed %d, step %d: %v", f.name, seed, k, err)
				}
			}
			if w.out.Truncated {
				for _, q := range e.requests {
					if q.left > 0 {
						total += seconds(e.now-q.arrived) / q.ideal
					}
				}
			}
			if total > 0 {
				worst = max(worst, math.Abs(sum+total)/total)
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("placement: over %d random steps under five workloads, resources, instances, prices and "+
			"masks agree with what is counted anew, and the latency "+
			"term's return is minus the sum of slowdowns", steps),
		Bound:    "no difference; 1e-6 of the sum",
		Measured: fmt.Sprintf("no difference; %.1e", worst),
		Holds:    worst <= 1e-6,
	})
}
