package placement

import (
	"strings"
	"testing"
)

// One request of one invocation, on either node, with every amount: cold start 0.5 s, 2 s of work by Amdahl's law
// over speed.
func TestTimes(t *testing.T) {
	for _, x := range []struct {
		amount, node int
		seconds      float64
		cost         float64
	}{
		{1, 0, 0.5 + 2, 1e-4 + 0.6e-5},
		{0, 0, 0.5 + 3, 0.5e-4 + 0.6e-5}, // half the amount: 2·(0.5 + 0.5/0.5)
		{1, 1, 0.5 + 1, 2 * (1e-4 + 0.6e-5)},
		{2, 1, 0.5 + 0.75, 2 * (2e-4 + 0.6e-5)}, // twice the amount: 2·(0.5 + 0.5/2)/2
	} {
		w := newWorld(t, twoNodes(t, 1, Step{Name: "a", Function: "f", Work: 2}))
		if now := w.wait(); now != 1 || w.out.Elapsed != 1e6 {
			t.Fatalf("the first request arrives at %g s, want 1", now)
		}
		w.start(0, x.amount, x.node)
		if now := w.wait(); !near(now, 1+x.seconds) {
			t.Errorf("amount %d on node %d ends at %g s, want %g", x.amount, x.node, now, 1+x.seconds)
		}
		if !w.out.Terminated || w.out.Truncated {
			t.Error("the last request has left, but the episode goes on")
		}
		w.want("slowdown", x.seconds/2)
		w.want("invocation slowdown", x.seconds/2)
		w.want("reward: latency", -x.seconds/2)
		if r := float64(w.out.Rewards[0][0]); !near(r, -x.seconds/2) {
			t.Errorf("reward %g, want minus the slowdown, %g", r, -x.seconds/2)
		}
		w.want("cost", x.seconds*x.cost)
		w.want("cold starts", 1)
		late := 0.0
		if x.seconds > 2.3 {
			late = 1
		}
		w.want("violations", late)
	}
}

// Utilisation is used over all; each resource counts by the share of it that the load takes, and nothing but what is
// held while running.
func TestUtilisation(t *testing.T) {
	c := twoNodes(t, 1, Step{Name: "a", Function: "f", Work: 2})
	c.Weights = Weights{Latency: 1, Utilisation: 10, Violations: 3, Cost: 1000}
	w := newWorld(t, c)
	w.wait()
	w.want("reward: utilisation", 0) // nothing waited
	w.start(0, 1, 0)
	w.wait()
	w.want("cpu utilisation", 1000.0/3000)
	w.want("memory utilisation", 600.0/3000)
	w.want("network utilisation", 10.0/300)
	w.want("gpu utilisation", 0)
	// f takes 1000·2 of the able 1000 + 2·2000 of CPU, 600·2 of 5000, 10·2 of 500 and no GPU: weights 0.4, 0.24 and 0.04.
	w.want("utilisation", (0.4/3+0.24/5+0.04/30)/0.68)
	w.want("reward: violations", -3*2)
	w.want("reward: cost", -1000*2.5*(1e-4+0.6e-5))
	w.want("efficiency", 2/2.5)

	// One waits for a second while half of the small node is used.
	w = newWorld(t, twoNodes(t, 2, Step{Name: "a", Function: "f", Work: 2}))
	w.e.c.Weights.Utilisation = 10
	w.wait()
	w.wait() // what waits fits, but is not started
	w.want("reward: utilisation", -10)
	w.want("waiting", 1)
	w.want("reward: latency", -0.5)
}

// An instance stays warm for four seconds after an invocation, at half the price of its memory, and spares the next
// one the cold start.
func TestKeepAlive(t *testing.T) {
	c := twoNodes(t, 2, Step{Name: "a", Function: "f", Work: 0.1})
	w := newWorld(t, c)
	w.wait()
	w.start(0, 1, 0)
	w.wait()
	w.want("cost", 0.6*(1e-4+0.6e-5)+0.4*0.5*0.6e-5) // from 1.6 s on warm, to the arrival at 2 s
	w.start(0, 1, 0)
	w.wait()
	w.want("slowdown", (6+1)/2.0)
	w.want("cold starts", 1)
	w.want("cold share", 0.5)

	// A request every 5 seconds finds it cold: it was warm from 5.6 to 9.6 s.
	c = twoNodes(t, 2, Step{Name: "a", Function: "f", Work: 0.1})
	c.Load, c.Seconds = c.Load/5, 11
	w = newWorld(t, c)
	w.wait()
	w.start(0, 1, 0)
	w.wait()
	w.want("cost", 0.6*(1e-4+0.6e-5)+4*0.5*0.6e-5)
	if n := w.graph().Edges[SharingEdges].Len; n != 0 {
		t.Errorf("%d instances are seen after their time, want none", n)
	}
	w.start(0, 1, 0)
	w.wait()
	w.want("cold starts", 2)
}

// A cold start drives out the instance that has been idle for longest; a function that is warm needs no room.
func TestEviction(t *testing.T) {
	c := twoNodes(t, 3, Step{Name: "a", Function: "f", Work: 0.1},
		Step{Name: "b", Function: "h", Work: 0.1, After: []string{"a"}})
	w := newWorld(t, c)
	w.wait()
	w.start(0, 1, 0)
	w.wait()
	if f := w.e.s.functions; f[w.e.invocations[w.e.window[0]].function].name != "h" {
		t.Fatal("h does not wait after f")
	}
	w.start(0, 1, 0) // 600 of 1000 MB are f's warm instance's
	w.want("evictions", 1)
	w.want("cold starts", 2)
	if w.e.pair(0, 0).idle != 0 || w.e.nodes[0].free[Memory] != 400 || w.e.nodes[0].warm != 0 {
		t.Errorf("node 0 has %+v and %+v, want f's instance gone and 400 MB free", w.e.nodes[0], *w.e.pair(0, 0))
	}
}

// Input from another node is fetched over the invocation's share of the network: 10 MB at 10 Mbit/s are 8 s, at 20
// Mbit/s 4 s.
func TestTransfer(t *testing.T) {
	for _, x := range []struct {
		second, amount int
		seconds        float64
	}{{0, 1, 0.25 + 1}, {1, 1, 0.25 + 8 + 0.5}, {1, 2, 0.25 + 4 + 0.5}} {
		c := twoNodes(t, 1, Step{Name: "a", Function: "h", Work: 1, Output: 10},
			Step{Name: "b", Function: "h", Work: 1, After: []string{"a"}})
		c.KeepAlive = 0
		w := newWorld(t, c)
		w.wait()
		w.start(0, 1, 0)
		if now := w.wait(); !near(now, 2.25) {
			t.Fatalf("the first invocation ends at %g s, want 2.25", now)
		}
		w.start(0, x.amount, x.second)
		if now := w.wait(); !near(now, 2.25+x.seconds) {
			t.Errorf("after an invocation on node 0, amount %d on node %d ends at %g s, want %g", x.amount, x.second, now,
				2.25+x.seconds)
		}
		w.want("slowdown", (1.25+x.seconds)/2)
	}
}

// An invocation waits until all before it are done; ideal is the longest way.
func TestJoin(t *testing.T) {
	c := twoNodes(t, 1, Step{Name: "join", Function: "h", Work: 1, After: []string{"left", "right"}},
		Step{Name: "left", Function: "h", Work: 2}, Step{Name: "right", Function: "h", Work: 4})
	w := newWorld(t, c)
	w.wait()
	if n := w.e.layout.Waiting(w.graph()); n != 2 {
		t.Fatalf("%d invocations wait, want 2", n)
	}
	v := w.e.layout.Invocation(w.graph(), 1)
	if p, r := w.e.layout.Path(v), w.e.layout.Stage(v); !near(p, 5) || r != 0 {
		t.Errorf("the right one has %g s to the end and a stage done by %g, want 5 and 0", p, r)
	}
	w.start(0, 1, 0)
	w.start(0, 1, 1)
	// The left one takes 0.25 + 2 s on the slow node, the right one 0.25 + 4/2 s on the fast one.
	if now := w.wait(); !near(now, 3.25) {
		t.Fatalf("both end at %g s, want 3.25", now)
	}
	if n := w.e.layout.Waiting(w.graph()); n != 1 {
		t.Fatalf("%d invocations wait after both ends, want the join", n)
	}
	w.start(0, 1, 0)
	w.wait()
	w.want("slowdown", (2.25+1)/5)
}

// The window holds the first to wait; a start lets the backlog's first one in.
func TestBacklog(t *testing.T) {
	c := twoNodes(t, 4, Step{Name: "a", Function: "f", Work: 10})
	c.Window = 2
	w := newWorld(t, c)
	for range 4 {
		w.wait()
	}
	w.want("backlog", 2)
	if n := w.e.layout.Waiting(w.graph()); n != 2 {
		t.Fatalf("%d are seen, want 2", n)
	}
	w.start(1, 1, 0)
	w.want("backlog", 1)
	var at []int64
	for _, i := range w.e.window {
		at = append(at, w.e.invocations[i].since/1e6)
	}
	if len(at) != 2 || at[0] != 1 || at[1] != 3 {
		t.Errorf("the window holds those of seconds %v, want 1 and 3", at)
	}
}

// Of more requests than there is room for, those that arrive are dropped, and counted as violations.
func TestDrops(t *testing.T) {
	c := twoNodes(t, 3, Step{Name: "a", Function: "f", Work: 10})
	c.Most, c.Weights.Violations = 1, 1
	w := newWorld(t, c)
	w.wait()
	w.wait()
	w.want("dropped", 1)
	w.want("reward: violations", -2)
	w.start(0, 1, 1)
	w.wait()
	w.want("dropped", 2)
	w.want("finished", 1)
	w.want("violations", 2.0/3)
}

// A cut ends the episode in its time; requests left behind count with the time that they have been there.
func TestCut(t *testing.T) {
	c := twoNodes(t, 2, Step{Name: "a", Function: "f", Work: 2})
	c.MaxTime = 5
	w := newWorld(t, c)
	for !w.out.Truncated && !w.out.Terminated {
		w.wait()
	}
	if !w.out.Truncated || w.e.now != 5e6 {
		t.Fatalf("ended at %d µs, truncated %t, want a cut at 5 s", w.e.now, w.out.Truncated)
	}
	w.want("slowdown", (4.0/2+3.0/2)/2)
	w.want("violations", 1)
	if err := w.do(w.e.layout.Wait(), 0, 0); err == nil || !strings.Contains(err.Error(), "want Reset") {
		t.Errorf("a step after the end gives %v", err)
	}
}

// A wait goes to the next tick, or to the next event after which something fits.
func TestWaits(t *testing.T) {
	c := twoNodes(t, 3, Step{Name: "a", Function: "f", Work: 2})
	c.Wait, c.Tick = WaitTick, 0.4
	w := newWorld(t, c)
	for i := range 5 {
		if now := w.wait(); !near(now, 0.4*float64(i+1)) {
			t.Fatalf("wait %d goes to %g s", i, now)
		}
	}
	c.Wait = WaitEvent
	w = newWorld(t, c)
	w.wait()
	w.start(0, 1, 0)
	w.wait() // the second request arrives at 2 s
	w.start(0, 2, 1)
	// The third arrives at 3 s and fits nowhere; the second ends at 2 + 0.5 + 0.75 = 3.25 s.
	if now := w.wait(); !near(now, 3.25) {
		t.Errorf("the wait goes to %g s, want 3.25", now)
	}
	// What waits fits, and no event is due but the end at 3.5 s.
	if now := w.wait(); !near(now, 3.5) {
		t.Errorf("the wait goes to %g s, want 3.5", now)
	}
	// Nothing is due: a tick.
	if now := w.wait(); !near(now, 3.9) {
		t.Errorf("the wait goes to %g s, want 3.9", now)
	}
}
