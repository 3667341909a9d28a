package graphs

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/graphs/graphstest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

func toyProblem(t testing.TB) (*Problem, *graphstest.Toy) {
	t.Helper()
	toy := graphstest.NewToy(5)
	p, err := NewProblem(toy.Spec())
	if err != nil {
		t.Fatal(err)
	}
	return p, toy
}

// A head for each way of choosing, conditioned on the nodes and the plain choices before it.
func TestPolicyHeads(t *testing.T) {
	p, _ := toyProblem(t)
	a := p.Policy(DefaultNet(), 0.01)
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	want := []nets.GraphHead{
		{Name: "thing", Per: 0, Out: 1, FinalBound: 0.01},
		{Name: "thing.options", Per: nets.WholeGraph, Out: 1, FinalBound: 0.01},
		{Name: "way", Per: nets.WholeGraph, Given: []int{0}, Extra: 1, Out: 2, FinalBound: 0.01},
		{Name: "bin", Per: 1, Given: []int{0}, Extra: 3, Out: 1, FinalBound: 0.01},
	}
	if !reflect.DeepEqual(a.Heads, want) {
		t.Errorf("heads are\n%+v\nwant\n%+v", a.Heads, want)
	}
	if len(a.Edges) != 2 || a.Edges[1] != (nets.GraphEdges{Name: "tied.back", From: 1, To: 0, Width: 1}) {
		t.Errorf("edges are %+v", a.Edges)
	}
	v := p.Value(DefaultNet())
	if err := v.Validate(); err != nil || len(v.Heads) != 1 {
		t.Errorf("%v: %+v", err, v.Heads)
	}
}

func TestProblemRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*envs.Spec){
		"has 2 kinds of agents":          func(s *envs.Spec) { s.Kinds = append(s.Kinds, s.Kinds[0]) },
		"observation space of porter is": func(s *envs.Spec) { s.Kinds[0].Observation = envs.NewBox(2, 0, 1) },
		"action space of porter is":      func(s *envs.Spec) { s.Kinds[0].Action = envs.NewBox(2, 0, 1) },
		"thing of porter has 3 choices":  func(s *envs.Spec) { s.Kinds[0].Action = envs.MultiDiscrete{N: []int{3, 2, 4}} },
	} {
		s := *graphstest.NewToy(5).Spec()
		s.Kinds = append([]envs.Kind(nil), s.Kinds...)
		spoil(&s)
		if _, err := NewProblem(&s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// A row gives the batch that the graph itself gives, and what is no row is refused.
func TestRows(t *testing.T) {
	p, toy := toyProblem(t)
	obs := envs.NewObservation(toy.Spec())
	direct, byRow := nets.NewGraphBatch(p.Policy(DefaultNet(), 0)), nets.NewGraphBatch(p.Policy(DefaultNet(), 0))
	rows := NewRows(p)
	var row []float32
	for seed := range uint64(20) {
		if err := toy.Reset(seed, nil, obs); err != nil {
			t.Fatal(err)
		}
		if err := p.Add(direct, obs.Kinds[0].Graphs[0]); err != nil {
			t.Fatal(err)
		}
		row = p.AppendRow(row[:0], obs.Kinds[0].Graphs[0])
		if err := rows.Check(row); err != nil {
			t.Fatal(err)
		}
		if err := rows.Add(byRow, row); err != nil {
			t.Fatal(err)
		}
	}
	direct.Seal()
	byRow.Seal()
	if !reflect.DeepEqual(direct, byRow) {
		t.Error("a batch of rows differs from a batch of graphs")
	}
	for _, x := range []float32{-1, 0.5, graphstest.Things + 1, 1e9} {
		if err := rows.Check(append([]float32{x}, row[1:]...)); err == nil || !strings.Contains(err.Error(), "of things") {
			t.Errorf("%g things: %v", x, err)
		}
	}
	for i := range row {
		if rows.Check(row[:i]) == nil {
			t.Errorf("a row cut after %d of %d numbers was taken", i, len(row))
		}
	}
	ends := len(row) - 3*int(row[0]) // edges begin after all nodes, and there is one for each thing
	for _, x := range []float32{-1, 0.5, graphstest.Things, 1e30} {
		bad := append([]float32(nil), row...)
		bad[ends] = x
		if err := rows.Check(bad); err == nil {
			t.Errorf("an edge from thing %g was taken", x)
		}
	}
	if err := rows.Check(append(row, 1)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("a number too many: %v", err)
	}
}
