package envs_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// pair is a space of at most two nodes and one edge.
var pair = envs.Graph{
	Nodes: []envs.NodeKind{{Name: "host", Width: 2, Capacity: 2}},
	Edges: []envs.EdgeKind{{Name: "link", Width: 1, Capacity: 1}},
}

func TestGraphOverflowsAndDangles(t *testing.T) {
	g := envs.NewGraphValue(pair)
	for i := range int32(2) {
		id, f, err := g.AddNode(0)
		if err != nil || id != i || len(f) != 2 {
			t.Fatalf("node %d: number %d with %d features, %v", i, id, len(f), err)
		}
		f[0] = float32(i) + 1
	}
	if _, _, err := g.AddNode(0); err == nil || !strings.Contains(err.Error(), `2 nodes of kind "host", its capacity`) {
		t.Errorf("a third node gives %v", err)
	}
	for _, e := range [][2]int32{{0, 2}, {2, 0}, {-1, 0}, {0, -1}} {
		if _, err := g.AddEdge(0, e[0], e[1]); err == nil || !strings.Contains(err.Error(), "dangles") {
			t.Errorf("edge %v gives %v", e, err)
		}
	}
	f := must.Get(g.AddEdge(0, 1, 0))(t)
	f[0] = 5
	if _, err := g.AddEdge(0, 0, 1); err == nil || !strings.Contains(err.Error(), `1 edges of kind "link", its capacity`) {
		t.Errorf("a second edge gives %v", err)
	}
	if err := pair.Check(g); err != nil {
		t.Error(err)
	}
	h := envs.NewGraphValue(pair)
	h.CopyFrom(g)
	if h.Nodes[0].Len != 2 || h.Nodes[0].Features[2] != 2 || h.Edges[0].From[0] != 1 || h.Edges[0].Features[0] != 5 {
		t.Errorf("the copy is %+v", h)
	}
	// What was there before is not seen again in the features that are handed out.
	g.Clear()
	if _, f, _ := g.AddNode(0); f[0] != 0 {
		t.Errorf("a new node's feature is %g, want 0", f[0])
	}
	if err := pair.Check(g); err != nil || g.Edges[0].Len != 0 {
		t.Errorf("after Clear: %v, %d edges", err, g.Edges[0].Len)
	}
	if h.Nodes[0].Features[0] != 1 {
		t.Error("the copy shares its features with the original")
	}
}

func TestGraphCheck(t *testing.T) {
	for want, spoil := range map[string]func(*envs.GraphValue){
		"3 nodes of kind":                     func(g *envs.GraphValue) { g.Nodes[0].Len = 3 },
		"-1 nodes of kind":                    func(g *envs.GraphValue) { g.Nodes[0].Len = -1 },
		"2 edges of kind":                     func(g *envs.GraphValue) { g.Edges[0].Len = 2 },
		`edge 0 of kind "link", 0→0, dangles`: func(g *envs.GraphValue) { g.Edges[0].Len = 1 },
		`edge 0 of kind "link", -1→0, dangles`: func(g *envs.GraphValue) {
			g.Nodes[0].Len, g.Edges[0].Len,
				g.Edges[0].From[0] = 1, 1, -1
		},
		"1 kinds of nodes and 0 of edges": func(g *envs.GraphValue) { g.Edges = nil },
	} {
		g := envs.NewGraphValue(pair)
		spoil(g)
		if err := pair.Check(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

func TestGraphDoesNotAllocate(t *testing.T) {
	g, h := envs.NewGraphValue(pair), envs.NewGraphValue(pair)
	if n := testing.AllocsPerRun(100, func() {
		g.Clear()
		_, _, err1 := g.AddNode(0)
		_, err2 := g.AddEdge(0, 0, 0)
		h.CopyFrom(g)
		if err1 != nil || err2 != nil || pair.Check(h) != nil {
			t.Fatal("the graph is refused")
		}
	}); n != 0 {
		t.Errorf("building and copying a graph allocates %g times", n)
	}
}

// A batch is one array per kind, and its environments are windows on it.
func TestBatchLayout(t *testing.T) {
	s := &envs.Spec{Kinds: []envs.Kind{
		{Name: "a", Agents: 2, Observation: envs.Unbounded(3), Action: envs.Discrete{N: 4}},
		{Name: "b", Agents: 1, Observation: pair, Action: envs.NewBox(2, 0, 1)},
	}}
	b, acts := envs.NewBatch(s, 3), envs.NewActionBatch(s, 3)
	o := b.Env(1)
	o.Kinds[0].Values[4], o.Kinds[0].Active[1], o.Kinds[0].Mask[5] = 7, true, true
	acts.Env(2).Kinds[1][1] = 9
	if v := b.Kinds[0]; v.Values[1*6+4] != 7 || !v.Active[1*2+1] || !v.Mask[1*8+5] || len(v.Values) != 18 ||
		len(v.Mask) != 24 {
		t.Error("environment 1's observation does not stand at [1, agent, feature]")
	}
	if acts.Kinds[1][2*2+1] != 9 || len(acts.Kinds[0]) != 6 || len(acts.Kinds[1]) != 6 {
		t.Error("environment 2's action does not stand at [2, agent, component]")
	}
	if len(b.Kinds[1].Graphs) != 3 || b.Kinds[1].Graphs[1] != o.Kinds[1].Graphs[0] || len(b.Kinds[1].Values) != 0 ||
		len(b.Kinds[1].Mask) != 0 {
		t.Error("graphs do not stand at [environment, agent]")
	}
	if _, _, err := o.Kinds[1].Graphs[0].AddNode(0); err != nil {
		t.Fatal(err)
	}
	p := envs.NewObservation(s)
	p.CopyFrom(o)
	if p.Kinds[0].Values[4] != 7 || !p.Kinds[0].Active[1] || !p.Kinds[0].Mask[5] ||
		p.Kinds[1].Graphs[0].Nodes[0].Len != 1 {
		t.Error("CopyFrom forgets a part")
	}
	if b.N != 3 || acts.N != 3 {
		t.Errorf("batches are of %d and %d environments", b.N, acts.N)
	}
}
