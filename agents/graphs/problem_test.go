package graphs

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/internal/graphstest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

func toyProblem(t testing.TB) (*Problem, *graphstest.Toy) {
	t.Helper()
	toy := graphstest.NewToy(5)
	p := must.Get(NewProblem(toy.Spec()))(t)
	return p, toy
}

// A head for each way of choosing, conditioned on the nodes and the plain choices before it.
func TestPolicyHeads(t *testing.T) {
	p, _ := toyProblem(t)
	a := p.Policy(DefaultNet(), 0.01)
	must.Do(t, a.Validate())
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

// A list gives the batch that the graphs themselves give, saved and loaded too, and what is no graph of the problem
// is refused.
func TestList(t *testing.T) {
	p, toy := toyProblem(t)
	obs := envs.NewObservation(toy.Spec())
	direct, listed := nets.NewGraphBatch(p.Policy(DefaultNet(), 0)), nets.NewGraphBatch(p.Policy(DefaultNet(), 0))
	kept, list := NewList(p), NewList(p)
	for seed := range uint64(20) {
		must.Do(t, toy.Reset(seed, nil, obs))
		must.Do(t, p.Add(direct, obs.Kinds[0].Graphs[0]))
		kept.Append(obs.Kinds[0].Graphs[0])
	}
	good := must.Get(state.Append(nil, "list", kept))(t)
	must.Do(t, state.Load(good, "list", list))
	for i := range list.Len() {
		must.Do(t, list.AddTo(listed, i))
	}
	direct.Seal()
	listed.Seal()
	if !reflect.DeepEqual(direct, listed) {
		t.Error("a batch of a list differs from a batch of its graphs")
	}
	kinds := len(p.Space.Nodes) + len(p.Space.Edges)
	for _, x := range []struct {
		spoil func(l *List)
		want  string
	}{
		{func(l *List) { l.numbers[0] = -1 }, "graph 0: it has -1 nodes"},
		{func(l *List) { l.numbers[0] = graphstest.Things + 1 }, "nodes of kind \"things\""},
		{func(l *List) { l.numbers[kinds-1] = 1 << 30 }, "graph 0: it has 1073741824 edges"},
		{func(l *List) { l.numbers[kinds] = graphstest.Things }, "dangles"},
		{func(l *List) { l.numbers[kinds] = -1 }, "dangles"},
		{func(l *List) { l.features[0] = float32(math.NaN()) }, "graph 0: feature 0 is NaN"},
		{func(l *List) { l.features = append(l.features, 1) }, "1 features and 0 numbers follow"},
		{func(l *List) { l.ends = l.ends[1:] }, "too many"},
		{func(l *List) { l.ends[0].numbers = 1 }, "it has 1 numbers"},
		{func(l *List) { l.ends[1].features = 0 }, "graph 1 ends at feature 0"},
		{func(l *List) { l.ends[0].numbers = 1 << 20 }, "of which there are"},
	} {
		bad := NewList(p)
		must.Do(t, state.Copy(bad, kept))
		x.spoil(bad)
		b := must.Get(state.Append(nil, "list", bad))(t)
		if err := state.Load(b, "list", list); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want an error with %q", err, x.want)
		}
		if list.Len() != kept.Len() {
			t.Fatalf("what was refused (%s) changed the list", x.want)
		}
	}
}
