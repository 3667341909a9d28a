package serve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng"
)

// mapped runs one request through split → map → merge, where map has n tasks and others one. It returns the request's
// latency, and the times at which map's tasks began and ended.
func mapped(t *testing.T, n, together int, pool int32, hop sim.Time, work func(*serve.Visit) float64) (sim.Time,
	[]serve.Run,
) {
	t.Helper()
	flow := compile(t, workflow.New("mapped", workflow.Chain("split", "map", "merge")))
	var k book
	var runs []serve.Run
	c := serve.Config{
		Flow: flow, Platform: pools(flow, pool), Delay: 7 * sim.Millisecond, Hop: hop,
		Hooks: serve.Hooks{
			Work: func(v *serve.Visit) (float64, uint64) { return work(v), uint64(v.Task) },
			Tasks: func(v *serve.Visit) (int, int) {
				if v.Node == 1 {
					return n, together
				}
				return 1, 0
			},
			Ran: func(r *serve.Run) {
				if r.Function == 1 {
					runs = append(runs, *r)
				}
			},
			Ended: k.end,
		},
	}
	k.walk = newWalk(t, c)
	ok(t, k.walk.Request(0, 0))
	ok(t, k.walk.Run(sim.Hour))
	if len(k.ended) != 1 || len(runs) != n || k.walk.Live() != 0 {
		t.Fatalf("%d requests and %d tasks ended, %d are in flight; want 1, %d and none", len(k.ended), len(runs),
			k.walk.Live(), n)
	}
	return k.ended[0].latency, runs
}

// Without a bound a visit ends with the longest of its tasks.
func TestFanOutEndsWithTheLast(t *testing.T) {
	key := rng.New(3, "test/work")
	for _, n := range []int{1, 2, 7, 300} {
		var longest sim.Time
		work := func(v *serve.Visit) float64 {
			if v.Node != 1 {
				return 0.1
			}
			x := sim.Seconds(v.Key(key).Exp())
			longest = max(longest, x)
			return x.Seconds()
		}
		latency, _ := mapped(t, n, 0, int32(n), 0, work)
		if want := 7*sim.Millisecond + longest + 200*sim.Millisecond; latency != want {
			t.Errorf("%d tasks: %d µs, want %d", n, latency, want)
		}
	}
}

// p equal tasks of which k run together take ⌈p/k⌉ times as long as one. The bound may be the visit's, or that of the
// servers there are. Each task waits for the hop.
func TestFanOutBound(t *testing.T) {
	const one, hop = 250 * sim.Millisecond, 2 * sim.Millisecond
	for _, c := range []struct{ p, k int }{{1, 1}, {5, 1}, {40, 40}, {41, 40}, {100, 40}, {120, 40}, {9, 100}} {
		work := func(*serve.Visit) float64 { return one.Seconds() }
		rounds := sim.Time((c.p + c.k - 1) / c.k)
		latency, _ := mapped(t, c.p, c.k, int32(c.p), hop, work)
		if want := 7*sim.Millisecond + 2*(one+hop) + rounds*(one+hop); latency != want {
			t.Errorf("%d tasks, %d together: %d µs, want %d", c.p, c.k, latency, want)
		}
		latency, _ = mapped(t, c.p, 0, int32(c.k), 0, work)
		if want := 7*sim.Millisecond + 2*one + rounds*one; latency != want {
			t.Errorf("%d tasks on %d servers: %d µs, want %d", c.p, c.k, latency, want)
		}
	}
}

// Unequal tasks of which k run together are list scheduling: each begins when the first of the k before it ends.
func TestFanOutIsListScheduling(t *testing.T) {
	const n, k = 200, 7
	key := rng.New(5, "test/work")
	work := func(v *serve.Visit) float64 { return sim.Seconds(v.Key(key).Exp()).Seconds() }
	_, runs := mapped(t, n, k, n, 0, work)
	begin := runs[0].Arrived
	for _, r := range runs {
		begin = min(begin, r.Arrived)
	}
	free := make([]sim.Time, k)
	var last sim.Time
	for task := range int32(n) {
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		free[first] += sim.Seconds(work(&serve.Visit{Node: 1, Function: 1, Task: task}))
		last = max(last, free[first])
	}
	if got := runs[n-1].Ended - begin; got != last {
		t.Errorf("the last task ended after %d µs, list scheduling says %d", got, last)
	}
	running := map[sim.Time]int{}
	for _, r := range runs {
		running[r.Started]++
		running[r.Ended]--
		if r.Started != r.Arrived {
			t.Errorf("a task waited from %d to %d beside free servers", r.Arrived, r.Started)
		}
	}
}

// A visit that fans out on a platform that starts instances one by one has the stairs of StepConf's Fig. 2: the last of
// p tasks begins p/rate and a cold start after the step.
func TestStairs(t *testing.T) {
	const p, rate, cold, one = 50, 20.0, 300 * sim.Millisecond, 400 * sim.Millisecond
	g := workflow.Graph{Name: "step", Nodes: []workflow.Node{{Name: "step"}}}
	flow := compile(t, g)
	c := pools(flow, sim.NoLimit)
	c.StartRate, c.Functions[0].ColdStart = rate, sim.Law{Mean: cold.Seconds()}
	var k book
	cfg := serve.Config{Flow: flow, Platform: c, Hooks: serve.Hooks{
		Work:  func(v *serve.Visit) (float64, uint64) { return one.Seconds(), uint64(v.Task) },
		Tasks: func(*serve.Visit) (int, int) { return p, 0 }, Ended: k.end,
	}}
	k.walk = newWalk(t, cfg)
	ok(t, k.walk.Request(0, 0))
	ok(t, k.walk.Run(sim.Minute))
	if want := sim.Seconds(p/rate) + cold + one; len(k.ended) != 1 || k.ended[0].latency != want {
		t.Errorf("ended %+v, want one after %d µs", k.ended, want)
	}
}

// A task that fails spoils what follows, or ends the request with all its tasks; a node that calls others has one task.
func TestFanOutFails(t *testing.T) {
	for _, abort := range []bool{false, true} {
		flow := compile(t, workflow.New("calls", workflow.Chain("map", "caller"), workflow.Calls("caller", "callee")))
		platform := pools(flow, 4)
		platform.Functions[0].Queue, platform.Functions[0].Timeout = sim.NoLimit, 150*sim.Millisecond
		var k book
		spoilt, ran := 0, 0
		k.walk = newWalk(t, serve.Config{Flow: flow, Platform: platform, Abort: abort, Hooks: serve.Hooks{
			Work: func(v *serve.Visit) (float64, uint64) {
				if v.Spoilt {
					spoilt++
				}
				return 0.1, uint64(v.Task)
			},
			Tasks:  func(v *serve.Visit) (int, int) { return 6, 0 }, // two wait, and time out
			Places: func(int) int { return 1 },
			Ran: func(r *serve.Run) {
				if r.Function != 0 {
					ran++
				}
			},
			Ended: k.end,
		}})
		for b := range uint64(3) {
			ok(t, k.walk.Request(0, b))
			ok(t, k.walk.Run(k.walk.Sim().Now()+sim.Minute))
		}
		// The caller has one task, the callee six.
		wantSpoilt, wantRan := 3*7, 3*7
		if abort {
			wantSpoilt, wantRan = 0, 0
		}
		if len(k.ended) != 3 || !k.ended[0].failed || spoilt != wantSpoilt || ran != wantRan || k.walk.Inside(1) != 0 ||
			k.walk.Live() != 0 {
			t.Errorf("abort %v: %+v, %d spoilt, %d ran after, %d inside", abort, k.ended, spoilt, ran, k.walk.Inside(1))
		}
	}
}

func TestWrong(t *testing.T) {
	flow := compile(t, workflow.New("two", workflow.Chain("a", "b")))
	work := func(*serve.Visit) (float64, uint64) { return 1, 0 }
	good := serve.Config{Flow: flow, Platform: pools(flow, 1), Hooks: serve.Hooks{Work: work}}
	for want, change := range map[string]func(*serve.Config){
		"Flow is nil":                   func(c *serve.Config) { c.Flow = nil },
		"Platform has 1 functions":      func(c *serve.Config) { c.Platform.Functions = c.Platform.Functions[:1] },
		"Ignored has 1 entries":         func(c *serve.Config) { c.Ignored = []bool{true} },
		"Hop -1":                        func(c *serve.Config) { c.Hop = -1 },
		"Hooks.Work is nil":             func(c *serve.Config) { c.Hooks.Work = nil },
		"Functions[0] (a).Sizing.Speed": func(c *serve.Config) { c.Platform.Functions[0].Sizing.Speed = -1 },
	} {
		c := good
		c.Platform = pools(flow, 1)
		change(&c)
		if _, err := serve.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for _, n := range []int{0, -3, serve.MaxTasks + 1} {
		c := good
		c.Hooks.Tasks = func(*serve.Visit) (int, int) { return n, 0 }
		err := newWalk(t, c).Request(0, 0)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`"a" has %d tasks`, n)) {
			t.Errorf("%d tasks: %v", n, err)
		}
	}
	c := good
	c.Source = poisson(t, 1, 1)
	if err := newWalk(t, c).Request(0, 0); err == nil || !strings.Contains(err.Error(), "beside those of the load") {
		t.Errorf("a request beside the load's: %v", err)
	}
}
