package placement

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// What a rule needs can be read out of the graph.
func TestSeen(t *testing.T) {
	c := twoNodes(t, 2, Step{Name: "a", Function: "h", Work: 1, Output: 10},
		Step{Name: "b", Function: "f", Work: 3, After: []string{"a"}})
	w := newWorld(t, c)
	l := w.e.Layout()
	w.wait()
	w.start(0, 1, 1)
	w.wait() // to 1.75 s, where a of the first request ends on node 1 and b waits
	w.wait() // to 2 s, where a of the second comes
	w.start(1, 1, 0)
	g := w.graph()
	if l.Waiting(g) != 1 || l.Invocations(g) != 2 {
		t.Fatalf("%d of %d invocations wait, want 1 of 2", l.Waiting(g), l.Invocations(g))
	}
	b, node := l.Invocation(g, 0), l.Node(g, 1)
	weight := func(work float64, demand ...float64) float64 {
		return work * (demand[0]/2000 + demand[1]/2000 + demand[2]/200)
	}
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"work", l.Work(b), 3},
		{"time at 2", l.Time(b, 2), 3 * (0.5 + 0.25)},
		{"path", l.Path(b), 3},
		{"slack", l.Slack(b), 1 + 4 + 0.3 - 2},
		{"input", l.Input(b), 10},
		{"remaining", l.Remaining(b), weight(3, 1000, 600, 10)},
		{"stage", float64(l.Stage(b)), 0},
		{"held", float64(l.Held(b)), 0},
		{"cpu at 2", float64(l.Demand(b, CPU, 2)), 1},
		{"memory at 0.5", float64(l.Demand(b, Memory, 0)), 0.3},
		{"free memory of node 1", float64(l.Free(node, Memory)), 0.7},
		{"warm memory of node 1", float64(l.WarmMemory(node)), 0.3},
		{"free cpu of node 0", float64(l.Free(l.Node(g, 0), CPU)), 0.25},
		{"speed of node 0", float64(l.Speed(l.Node(g, 0))), 0.5},
		{"price of node 0", float64(l.Price(l.Node(g, 0))), 0.5},
		{"gpu of node 1", float64(l.Capacity(node, GPU)), 1},
		{"b on node 1, cold, input there", l.Runs(b, node, 1, false, 1), 0.5 + 1.5},
		{"b on node 0, cold, input elsewhere", l.Runs(b, l.Node(g, 0), 1, false, 0), 0.5 + 3 + 8},
	} {
		if math.Abs(x.got-x.want) > 1e-5*(1+math.Abs(x.want)) {
			t.Errorf("%s is seen as %g, want %g", x.what, x.got, x.want)
		}
	}
	// Edges: h to f; the running one to its node, b to that where its input lies; nothing follows in time; h on both
	// nodes.
	edges := func(kind int) (out []string) {
		s := &g.Edges[kind]
		for i := range s.Len {
			out = append(out, fmt.Sprintf("%d→%d", s.From[i], s.To[i]))
		}
		return out
	}
	for kind, want := range []string{"[2→0]", "[1→0 0→1]", "[]", "[2→0 2→1]"} {
		if got := fmt.Sprint(edges(kind)); got != want {
			t.Errorf("%s edges are %s, want %s", g.Space.Edges[kind].Name, got, want)
		}
	}
	warm, local := make([]bool, 2), make([]float32, 2)
	if l.Near(g, 0, 0, warm, local); warm[0] || warm[1] || local[0] != 0 || local[1] != 1 {
		t.Errorf("near b: warm %v, input %v, want none warm and all on node 1", warm, local)
	}
	alloc := g.Edges[AllocationEdges].Features[:widthOfAllocation]
	if alloc[ofGranted] != 1 || alloc[ofShares+CPU] != 0.5 || alloc[ofShares+Memory] != 0.6 || alloc[ofShares+GPU] != 0 {
		t.Errorf("the running one's allocation is %v, want half of the CPU and 0.6 of the memory", alloc)
	}
	share := g.Edges[SharingEdges].Features
	if x := stretch(share[widthOfSharing+ofIdleHere], countScale); math.Abs(x-1) > 1e-6 {
		t.Errorf("%g instances of h are idle on node 1, want 1", x)
	}
	nodes, of := l.Features()
	for i, names := range nodes {
		if len(names) != g.Space.Nodes[i].Width {
			t.Errorf("%d names of %d features of %s", len(names), g.Space.Nodes[i].Width, g.Space.Nodes[i].Name)
		}
	}
	for i, names := range of {
		if len(names) != g.Space.Edges[i].Width {
			t.Errorf("%d names of %d features of %s edges", len(names), g.Space.Edges[i].Width, g.Space.Edges[i].Name)
		}
	}
}

// Everything that is seen is from −1 to 1, but for demands that no node meets.
func TestScale(t *testing.T) {
	for _, f := range forms {
		c := Default()
		f.change(&c)
		e := must.Get(New(c, workload.Default()))(t)
		obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
		s := must.Get(envs.NewActionSampler(e.Spec()))(t)
		must.Do(t, e.Reset(7, nil, obs))
		stream := rng.NewStream(7, "actions")
		nodes, edges := e.layout.Features()
		for !out.Terminated && !out.Truncated {
			must.Do(t, s.Sample(stream, obs, act))
			must.Do(t, e.Step(act, obs, out))
			check := func(kind string, names []string, width, n int, features []float32) {
				for i, x := range features[:n*width] {
					name := names[i%width]
					most := float32(1)
					if kind == "invocation" && i%width > 0 && i%width < e.layout.cold() {
						most = 2
					}
					if !(x >= -1 && x <= most) {
						t.Fatalf("%s: %s of %s is %g", f.name, name, kind, x)
					}
				}
			}
			g := obs.Kinds[0].Graphs[0]
			for i, k := range g.Space.Nodes {
				check(k.Name, nodes[i], k.Width, g.Nodes[i].Len, g.Nodes[i].Features)
			}
			for i, k := range g.Space.Edges {
				check(k.Name, edges[i], k.Width, g.Edges[i].Len, g.Edges[i].Features)
			}
		}
	}
}

// The defaults have room for 64 waiting invocations and 16 nodes, three kinds of nodes and four of edges.
func TestSizes(t *testing.T) {
	e := must.Get(New(Default(), workload.Default()))(t)
	k := &e.Spec().Kinds[0]
	g := k.Observation.(envs.Graph)
	if len(g.Nodes) != 3 || len(g.Edges) != 4 || e.layout.Window < 64 || g.Nodes[ResourceNodes].Capacity < 16 {
		t.Errorf("the graph is %v", g)
	}
	if b := e.s.Bottleneck(); b != CPU {
		t.Errorf("the bottleneck is %s, want cpu: %v", ResourceNames[b], e.s.scarcity)
	}
	t.Logf("%v; action %v; %.2f requests a second at load 1; scarcity %.3f", g, k.Action, e.s.Rate(1), e.s.scarcity)
}
