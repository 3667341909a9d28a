package nets_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// cluster is two kinds of nodes and of edges: an architecture that has every switch on.
func cluster() nets.Graph {
	return nets.Graph{
		Nodes:  []nets.GraphNodes{{"job", 3}, {"node", 2}},
		Edges:  []nets.GraphEdges{{Name: "next", From: 0, To: 0}, {Name: "runs", From: 0, To: 1, Width: 2}},
		Hidden: 4, Layers: 1, Own: true, Skip: true, Norm: nets.LayerNorm, Dropout: 0.25,
		Heads: []nets.GraphHead{
			{Name: "which", Per: 0, Out: 1},
			{Name: "where", Per: 1, Given: []int{0}, Extra: 2, Out: 1, FinalBound: 0.01},
			{Name: "value", Per: nets.WholeGraph, Out: 1},
		},
	}
}

// Checkpoints hold flat vectors in this order: a change makes them unreadable.
func TestGraphLayout(t *testing.T) {
	want := "in.job.weight[3 4] in.job.bias[4] in.node.weight[2 4] in.node.bias[4] " +
		"layer0.next.weight[4 4] layer0.next.source[4] layer0.next.target[4] " +
		"layer0.runs.weight[4 4] layer0.runs.source[4] layer0.runs.target[4] layer0.runs.features[2 4] " +
		"layer0.job.own[4 4] layer0.job.bias[4] layer0.job.gain[4] layer0.job.offset[4] " +
		"layer0.node.own[4 4] layer0.node.bias[4] layer0.node.gain[4] layer0.node.offset[4] " +
		"head.which.0.weight[12 4] head.which.0.bias[4] head.which.1.weight[4 1] head.which.1.bias[1] " +
		"head.where.0.weight[18 4] head.where.0.bias[4] head.where.1.weight[4 1] head.where.1.bias[1] " +
		"head.value.0.weight[8 4] head.value.0.bias[4] head.value.1.weight[4 1] head.value.1.bias[1] "
	var got strings.Builder
	for _, p := range cluster().Parameters() {
		got.WriteString(p.Name + sprint(p.Shape) + " ")
	}
	if got.String() != want {
		t.Errorf("layout is\n%s\nwas\n%s", got.String(), want)
	}
}

func TestGraphRefuses(t *testing.T) {
	must.Do(t, cluster().Validate())
	for want, spoil := range map[string]func(*nets.Graph){
		"nodes is empty":                      func(g *nets.Graph) { g.Nodes = nil },
		`nodes[1].name is "job"`:              func(g *nets.Graph) { g.Nodes[1].Name = "job" },
		`nodes[0].width ("job") is 0`:         func(g *nets.Graph) { g.Nodes[0].Width = 0 },
		`edges[1] ("runs") joins 0 to 2`:      func(g *nets.Graph) { g.Edges[1].To = 2 },
		`edges[0].width ("next") is -1`:       func(g *nets.Graph) { g.Edges[0].Width = -1 },
		"hidden is 0":                         func(g *nets.Graph) { g.Hidden = 0 },
		"layers is -1":                        func(g *nets.Graph) { g.Layers = -1 },
		`norm is "batch"`:                     func(g *nets.Graph) { g.Norm = "batch" },
		"dropout is 1":                        func(g *nets.Graph) { g.Dropout = 1 },
		"heads is empty":                      func(g *nets.Graph) { g.Heads = nil },
		`heads[2].per ("value") is 5`:         func(g *nets.Graph) { g.Heads[2].Per = 5 },
		`heads[1].given ("where") has -1`:     func(g *nets.Graph) { g.Heads[1].Given[0] = -1 },
		`heads[1].extra ("where") is -2`:      func(g *nets.Graph) { g.Heads[1].Extra = -2 },
		"heads[0].out is 0":                   func(g *nets.Graph) { g.Heads[0].Out = 0 },
		`heads[1].name is "which"`:            func(g *nets.Graph) { g.Heads[1].Name = "which" },
		`final_bound ("where") is -1`:         func(g *nets.Graph) { g.Heads[1].FinalBound = -1 },
		"parameters, want at most 1073741824": func(g *nets.Graph) { g.Hidden = 1 << 20 },
	} {
		g := cluster()
		spoil(&g)
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// Two graphs side by side: rows are shifted, edges sorted by where they end and listed by where they begin.
func TestGraphBatch(t *testing.T) {
	b := nets.NewGraphBatch(cluster())
	for range 2 { // the memory of a batch serves the next
		b.Reset()
		b.AddGraph()
		add(t, b.AddNodes(0, make([]float32, 9)), b.AddNodes(1, []float32{1, 2}), b.AddNodes(1, []float32{3, 4}))
		add(t, b.AddEdges(0, []int32{2, 0, 1}, []int32{1, 1, 0}, nil),
			b.AddEdges(1, []int32{2, 0}, []int32{1, 0}, []float32{21, 22, 1, 2}))
		b.AddGraph()
		add(t, b.AddNodes(0, make([]float32, 6)), b.AddNodes(1, []float32{5, 6}),
			b.AddEdges(1, []int32{1}, []int32{0}, []float32{31, 32}))
		b.Seal()
	}
	if b.Graphs() != 2 || !b.Sealed() || b.Nodes[0].Rows() != 5 || !reflect.DeepEqual(b.Nodes[1].Starts,
		[]int32{0, 2, 3}) {
		t.Errorf("%d graphs, nodes %+v", b.Graphs(), b.Nodes)
	}
	next, runs := b.Edges[0], b.Edges[1]
	for what, x := range map[string][2][]int32{
		"next from": {next.From, {1, 2, 0}}, "next to": {next.To, {0, 1, 1}}, "next in": {next.In, {0, 1, 3, 3, 3, 3}},
		"next out": {next.Out, {2, 0, 1}}, "next out starts": {next.OutStarts, {0, 1, 2, 3, 3, 3}},
		"runs from": {runs.From, {0, 2, 4}}, "runs to": {runs.To, {0, 1, 2}}, "runs in": {runs.In, {0, 1, 2, 3}},
		"runs out": {runs.Out, {0, 1, 2}}, "runs out starts": {runs.OutStarts, {0, 1, 1, 2, 2, 3}},
	} {
		if !reflect.DeepEqual(x[0], x[1]) {
			t.Errorf("%s is %v, want %v", what, x[0], x[1])
		}
	}
	if want := []float32{1, 2, 21, 22, 31, 32}; !reflect.DeepEqual(runs.Features, want) {
		t.Errorf("features are %v, want %v", runs.Features, want)
	}
}

func add(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		must.Do(t, err)
	}
}

func TestGraphBatchRefuses(t *testing.T) {
	b := nets.NewGraphBatch(cluster())
	early := b.AddNodes(0, []float32{1, 2, 3})
	b.AddGraph()
	add(t, b.AddNodes(0, make([]float32, 6)))
	for want, err := range map[string]error{
		`nodes of kind "job" before the first graph`: early,
		"want a multiple of 2":                       b.AddNodes(1, []float32{1}),
		`graph 0: edge 1 of kind "next", 1→2, dangles: 2 nodes of kind "job", 2 of kind "job"`: b.AddEdges(0,
			[]int32{0, 1}, []int32{1, 2}, nil),
		`edge 0 of kind "runs", 0→0, dangles`: b.AddEdges(1,
			[]int32{0}, []int32{0}, []float32{1, 2}),
		"1 from, 1 to, 1 features": b.AddEdges(1,
			[]int32{0}, []int32{0}, []float32{1}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	b.Seal()
	if len(b.Edges[0].From) != 0 {
		t.Error("refused edges were added")
	}
}

func TestDropoutMask(t *testing.T) {
	m := make([]float32, 100000)
	nets.DropoutMask(m, rng.New(1, "dropout"), 0, 1, 0.25)
	zero := 0
	for _, x := range m {
		if x == 0 {
			zero++
		} else if x != 1/(1-float32(0.25)) {
			t.Fatalf("%v in a mask", x)
		}
	}
	if zero < 24500 || zero > 25500 { // 3.6 deviations of 137
		t.Errorf("%d of 100,000 are dropped, want about 25,000", zero)
	}
}
