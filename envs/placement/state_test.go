package placement

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// What a saved state leads to is the same in every field, those too that are not saved; an imagined future is part of
// the state.
func TestStateIsWhole(t *testing.T) {
	for _, f := range forms {
		c := Default()
		f.change(&c)
		c.Seconds = 8
		e := must.Get(New(c, workload.Default()))(t)
		loaded := must.Get(e.System().Environment())(t)
		w := &world{t, e, envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())}
		sampler := must.Get(envs.NewActionSampler(e.Spec()))(t)
		w.reset(3)
		stream := rng.NewStream(3, "actions")
		for k := 0; !w.out.Terminated && !w.out.Truncated; k++ {
			must.Do(t, sampler.Sample(stream, w.obs, w.act))
			must.Do(t, e.Step(w.act, w.obs, w.out))
			if k%11 > 0 {
				continue
			}
			if k%22 > 0 {
				e.Imagine(uint64(k))
			}
			b := must.Get(e.AppendBinary(nil))(t)
			if err := loaded.UnmarshalBinary(b); err != nil {
				t.Fatalf("%s, step %d: %v", f.name, k, err)
			}
			if name := differ(e, loaded); name != "" {
				t.Fatalf("%s, step %d: the loaded state has other %s", f.name, k, name)
			}
		}
	}
}

// differ names the first thing in which two environments differ that follows from their states.
func differ(a, b *Env) string {
	ends := func(e *Env) []ending {
		return slices.SortedFunc(slices.Values(e.ends), func(i, j ending) int { return int(i.invocation - j.invocation) })
	}
	rows := func(e *Env) (out []float32) {
		for i := range e.invocations {
			if e.waits(int32(i)) {
				out = append(out, e.still(int32(i))...)
			}
		}
		return out
	}
	levels := func(e *Env) (out []int32) {
		for i, q := range e.requests {
			if q.left > 0 {
				out = append(out, e.levels[i*e.s.steps:][:len(e.s.workflows[q.workflow].steps)]...)
			}
		}
		return out
	}
	for _, x := range []struct {
		name string
		of   func(e *Env) any
	}{
		{"requests", func(e *Env) any { return e.requests }}, {"ends", func(e *Env) any { return ends(e) }},
		{"features", func(e *Env) any { return rows(e) }}, {"levels", func(e *Env) any { return levels(e) }},
		{"nodes", func(e *Env) any { return e.nodes }}, {"pairs", func(e *Env) any { return e.pairs }},
		{"fits", func(e *Env) any { return e.fits }}, {"warm nodes", func(e *Env) any { return e.warm }},
		{"functions", func(e *Env) any { return e.functions }},
		{"sums", func(e *Env) any { return []any{e.used, e.weight, e.rate, e.meter, e.tally.counts, e.elapsed} }},
		{"seen nodes", func(e *Env) any { return e.cached.nodes }},
		{"next request", func(e *Env) any {
			return []any{e.arrivals.next, e.arrivals.stays, e.arrivals.gap,
				e.arrivals.gaps}
		}},
	} {
		if !reflect.DeepEqual(x.of(a), x.of(b)) {
			return x.name
		}
	}
	return ""
}

// A saved state that the rules do not lead to is refused, even with a checksum that is right, and changes nothing.
func TestImpossibleStates(t *testing.T) {
	c := twoNodes(t, 4, Step{Name: "a", Function: "h", Work: 1, Output: 10},
		Step{Name: "b", Function: "f", Work: 3, After: []string{"a"}})
	c.Window = 1
	w, bad := newWorld(t, c), newWorld(t, c)
	w.wait()
	w.start(0, 1, 1)
	w.wait() // b of the first request waits, a warm h is idle on node 1
	w.wait() // a of the second comes
	w.start(0, 1, 1)
	w.wait() // a of the third
	good := must.Get(w.e.AppendBinary(nil))(t)
	if len(w.e.active) == 0 || len(w.e.idle) == 0 || len(w.e.window) != 1 || len(w.e.backlog) == w.e.head ||
		w.e.invocations[1].node < 0 {
		t.Fatalf("%d run, %d idle, %d and %d wait; want some of each", len(w.e.active), len(w.e.idle), len(w.e.window),
			len(w.e.backlog))
	}
	for _, x := range []struct {
		change func(e *Env)
		want   string
	}{
		{func(e *Env) { e.begun = false }, "under way that has not begun"},
		{func(e *Env) { e.now = -1 }, "at -1 µs"},
		{func(e *Env) { e.load = 99 }, "load 99"},
		{func(e *Env) { e.nodes[0].recent = 2 }, "node 0 used 2 of its CPU"},
		{func(e *Env) { e.functions[0].cold = -1 }, "-1 of its starts were cold"},
		{func(e *Env) { e.functions[0].since = e.now + 1 }, "function 0 was invoked at"},
		{func(e *Env) { e.arrivals.stream = 1 }, "of stream 1"},
		{func(e *Env) { e.arrivals.next++ }, "the next request arrives at"},
		{func(e *Env) { e.invocations = e.invocations[:1] }, "requests with 1 invocations"},
		{func(e *Env) { e.requests[0].workflow = 1 }, "workflow 1"},
		{func(e *Env) { e.requests[0].priority = -1 }, "priority -1"},
		{func(e *Env) { e.requests[0].size = 9 }, "with size 9"},
		{func(e *Env) { e.requests[0].left = 2 }, "2 invocations are left, want 1"},
		{func(e *Env) { e.free = append(e.free, 0) }, "place 0 is not free"},
		{func(e *Env) { e.invocations[0].function = 0 }, "is not that of its workflow"},
		{func(e *Env) { e.invocations[0].node = 2 }, "runs on node 2"},
		{func(e *Env) { e.invocations[1].amount = 3 }, "with amount 3"},
		{func(e *Env) { e.invocations[1].pending = 1 }, "comes after 1 that are not done, want 0"},
		{func(e *Env) { e.head = 9 }, "from 9 on"},
		{func(e *Env) { e.window[0] = 99 }, "invocation 99 does not wait"},
		{func(e *Env) { e.window = e.window[:0] }, "neither in the window nor in the backlog"},
		{func(e *Env) { e.active = append(e.active, 0) }, "invocation 0 does not run"},
		{func(e *Env) { e.active = append(e.active, 77) }, "invocation 77 does not run"},
		{func(e *Env) { e.active = nil }, "runs, but is not listed"},
		{func(e *Env) { e.idle[0].node = 2 }, "on node 2"},
		{func(e *Env) { e.idle[0].expires = 0 }, "expires at 0 µs"},
		{func(e *Env) { e.idle = append(e.idle, slices.Repeat(e.idle[:1], 9)...) }, "of memory left"},
	} {
		must.Do(t, bad.e.CopyFrom(w.e))
		x.change(bad.e)
		b := must.Get(bad.e.AppendBinary(nil))(t)
		if err := w.e.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want an error with %q", err, x.want)
		}
		if now, _ := w.e.AppendBinary(nil); !slices.Equal(now, good) {
			t.Fatalf("a refused state (%s) has changed the environment", x.want)
		}
	}
}

// Where workflows differ in length, a shorter one leaves the last places of its request empty. What stands there cannot
// run.
func TestNoInvocationBeyondTheWorkflow(t *testing.T) {
	c := twoNodes(t, 4, Step{Name: "a", Function: "h", Work: 1})
	c.Workflows = append(c.Workflows, Workflow{Name: "long", Share: 1e-9, Steps: []Step{
		{Name: "a", Function: "h", Work: 1}, {Name: "b", Function: "h", Work: 1, After: []string{"a"}},
	}})
	w := newWorld(t, c)
	w.wait()
	w.start(0, 1, 1)
	e := w.e
	if e.s.steps != 2 || len(e.active) != 1 || len(e.s.workflows[e.requests[0].workflow].steps) != 1 {
		t.Fatalf("%v run, want one of the short workflow", e.active)
	}
	e.invocations[1] = e.invocations[0]
	e.active = append(e.active, 1)
	b := must.Get(e.AppendBinary(nil))(t)
	if err := newWorld(t, c).e.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), "invocation 1 does not run") {
		t.Errorf("%v, want invocation 1 refused", err)
	}
}
