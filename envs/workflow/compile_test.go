package workflow

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	nodes := func(names ...string) (out []Node) {
		for _, n := range names {
			out = append(out, Node{Name: n})
		}
		return out
	}
	for name, c := range map[string]struct {
		g    Graph
		want []string
	}{
		"no nodes":       {Graph{Name: "w"}, []string{`workflow "w"`, "no nodes"}},
		"nameless node":  {Graph{Nodes: nodes("a", "")}, []string{"node 2", "no name"}},
		"node named end": {Graph{Nodes: nodes("end")}, []string{`"end"`}},
		"node twice":     {Graph{Nodes: nodes("a", "a")}, []string{`"a"`, "twice"}},
		"call mode": {Graph{Nodes: []Node{{Name: "a", Calls: "maybe"}}},
			[]string{`"maybe"`, "one-by-one", "together"}},
		"unknown function": {Graph{Functions: []string{"f"}, Nodes: []Node{{Name: "a", Function: "g"}}},
			[]string{`node "a"`, `"g"`, "want one of f"}},
		"idle function":  {Graph{Functions: []string{"a", "b"}, Nodes: nodes("a")}, []string{`"b"`, "no node"}},
		"function twice": {Graph{Functions: []string{"a", "a"}, Nodes: nodes("a")}, []string{`"a"`, "twice"}},
		"dangling target": {Graph{Nodes: nodes("a"), Edges: []Edge{{From: "a", To: "b"}}},
			[]string{"edge 1 (a -> b)", `no node "b"`, `"end"`}},
		"dangling source": {Graph{Nodes: nodes("a"), Edges: []Edge{{From: "b", To: "a"}}},
			[]string{"edge 1 (b -> a)", `no node "b"`}},
		"edge twice": {New("", Chain("a", "b"), Chain("a", "b")), []string{"edge 2 (a -> b)", "twice"}},
		"kind": {Graph{Nodes: nodes("a", "b"), Edges: []Edge{{From: "a", To: "b", Kind: "jump"}}},
			[]string{`"jump"`, "next, branch, loop or call"}},
		"probability": {New("", Choice("a", To("b", 1.5))), []string{"(a -> b)", "1.5", "(0, 1]"}},
		"next probability": {Graph{Nodes: nodes("a", "b"),
			Edges: []Edge{{From: "a", To: "b", Kind: Next, Probability: 0.5}}}, []string{"(a -> b)", "0.5", "always taken"}},
		"sum":               {New("", Choice("a", To("b", 0.5), To("c", 0.4))), []string{`node "a"`, "0.9", "want 1"}},
		"loop without exit": {New("", Chain("a", "b"), Repeat("b", "a", 0.1)), []string{`node "b"`, "0.1", `"end"`}},
		"endless loop":      {New("", Chain("a", "b"), Repeat("b", "a", 1)), []string{`node "b"`, "never ends"}},
		"self edge":         {New("", Chain("a", "a")), []string{"(a -> a)", "loop edge"}},
		"no entry": {Graph{Nodes: nodes("a", "b"), Edges: []Edge{{From: "a", To: "b"}, {From: "b", To: "a"}}},
			[]string{"no entry"}},
		"two entries":   {Graph{Nodes: nodes("a", "b")}, []string{"a, b", "name the entry"}},
		"unknown entry": {Graph{Entry: "x", Nodes: nodes("a")}, []string{`"x"`, "want one of a"}},
		"entered entry": {Graph{Entry: "b", Nodes: nodes("a", "b"), Edges: []Edge{{From: "a", To: "b"}}},
			[]string{`"b"`, "incoming edge"}},
		"unreachable": {Graph{Entry: "a", Nodes: nodes("a", "b")}, []string{`"b"`, "cannot be reached", `"a"`}},
		"cycle":       {New("", Chain("a", "b", "c", "b")), []string{"b -> c -> b", "cycle"}},
		"loop forward": {New("", Chain("a", "b"), Chain("a", "c"), Repeat("b", "c", 0.5), Choice("b", To(End, 0.5))),
			[]string{"b -> c", "does not lead back"}},
		"part without exit": {New("", Choice("a", To("b", 0.5), To(End, 0.5)), Chain("b", "c"), Repeat("c", "b", 1)),
			[]string{`node "b"`, "never left", "lead an edge out"}},
		"all lead back": {New("", Choice("a", To("b", 0.5), To("c", 0.5)), Repeat("b", "a", 1), Repeat("c", "a", 1)),
			[]string{`node "b"`, "probability 1", "never ends"}},
		"passes without end": {New("", Fork("a", "b", "c"), Choice("b", To("d", 0.4)), Repeat("b", "a", 0.6),
			Choice("c", To("d", 0.4)), Repeat("c", "a", 0.6), Chain("d", "e")),
			[]string{`"a"`, "never ends", "lower the probabilities"}},
		"join without a fork": {Graph{Nodes: []Node{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d", Join: true}},
			Edges: append(Choice("a", To("b", 0.5), To("c", 0.5)),
				Join("d", "b", "c")...)}, []string{`"d"`, "join without a fork"}},
		"callee of two": {New("", Chain("a", "b"), Calls("a", "c"), Calls("b", "c")),
			[]string{"(b -> c)", `called by "a" already`}},
		"callee goes on":   {New("", Calls("a", "b"), Chain("b", "c")), []string{`"b"`, "may only have call edges"}},
		"call to the end":  {New("", Calls("a", End)), []string{"(a -> end)", "call"}},
		"too many choices": {tangle(7), []string{"4096", "combinations", "meet before"}},
	} {
		err := c.g.Validate()
		if err == nil {
			t.Errorf("%s: it was accepted", name)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error is %q, want it to say %q", name, err, w)
			}
		}
	}
}

// tangle returns a graph in which n parallel arms each choose one of four ways and only then meet.
func tangle(n int) Graph {
	var arms []string
	var parts [][]Edge
	for i := range n {
		arm := fmt.Sprint("arm", i)
		arms = append(arms, arm)
		var ways []Arm
		for j := range 4 {
			ways = append(ways, To(fmt.Sprint(arm, "way", j), 0.25))
		}
		parts = append(parts, Choice(arm, ways...))
	}
	return New("tangle", append([][]Edge{Fork("a", arms...)}, parts...)...)
}

// A chain of many choices is no tangle: every request passes the nodes in between.
func TestChainOfChoices(t *testing.T) {
	var parts [][]Edge
	for i := range 30 {
		a, next := fmt.Sprint("a", i), fmt.Sprint("a", i+1)
		parts = append(parts, Choice(a, To(a+"x", 0.3), To(a+"y", 0.7)), Join(next, a+"x", a+"y"))
	}
	w := compile(t, New("choices", parts...))
	times := make([]float64, w.NumNodes())
	for n := range times {
		if w.NodeName(n)[len(w.NodeName(n))-1] == 'x' {
			times[n] = 10
		}
	}
	if got := w.Response(times, Delays{}); !near(got, 90, 1e-9) {
		t.Errorf("30 choices of 10 s with probability 0.3 take %v s, want 90", got)
	}
}

// What is left out is filled in.
func TestDefaults(t *testing.T) {
	g := Graph{Nodes: []Node{{Name: "a"}, {Name: "b", Function: "f"}},
		Edges: []Edge{{From: "a", To: "b", Probability: 0.25}, {From: "a", To: End, Probability: 0.75}}}
	got := compile(t, g).Graph()
	want := Graph{Entry: "a", Functions: []string{"a", "f"},
		Nodes: []Node{{Name: "a", Function: "a", Calls: OneByOne}, {Name: "b", Function: "f", Calls: OneByOne}},
		Edges: []Edge{{"a", "b", Branch, 0.25}, {"a", End, Branch, 0.75}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("compiled graph is %+v, want %+v", got, want)
	}
	if g.Entry != "" || g.Edges[0].Kind != "" {
		t.Error("compiling changed the graph it was given")
	}
}
