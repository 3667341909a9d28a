package workflow

import "testing"

// Places and paths by hand: 1 leads to 2 and 3, 2 to 4; 2 calls a and b together, a calls c.
func TestPlaces(t *testing.T) {
	g := New("", Fork("1", "2", "3"), Chain("2", "4"))
	g.Nodes = append(g.Nodes, Node{Name: "a"}, Node{Name: "b", Function: "3"}, Node{Name: "c"})
	for i := range g.Nodes {
		if g.Nodes[i].Name == "2" {
			g.Nodes[i].Calls = Together
		}
	}
	for _, e := range [][2]string{{"2", "a"}, {"2", "b"}, {"a", "c"}} {
		g.Edges = append(g.Edges, Edge{From: e[0], To: e[1], Kind: Call})
	}
	w := compile(t, g)
	places, longest := w.Places()
	if longest != 3 { // 1, 2, a, c
		t.Errorf("the longest path has %d edges, want 3", longest)
	}
	for f, name := range w.Functions() {
		want := map[string]Place{
			"1": {0, 3, 0, 2}, "2": {1, 2, 1, 3}, "3": {1, 0, 2, 0}, "4": {2, 0, 1, 0}, "a": {2, 1, 1, 1}, "c": {3, 0, 1, 0},
		}[name]
		if places[f] != want {
			t.Errorf("function %s is at %+v, want %+v", name, places[f], want)
		}
	}
	times := make([]float64, w.NumNodes())
	for name, s := range map[string]float64{"1": 1, "2": 2, "3": 4, "4": 8, "a": 1, "b": 1.5, "c": 3} {
		times[node(t, w, name)] = s
	}
	through, length := w.Through(times, Delays{})
	path, critical := w.CriticalPath(nil, times, Delays{})
	if length != 15 || critical != length { // 1 + (2 + a's 1 + 3) + 8
		t.Errorf("the longest path takes %g s, the critical one %g s, want 15", length, critical)
	}
	for _, n := range path {
		if through[n] != length {
			t.Errorf("node %s is on the critical path, but the longest path through it takes %g s", w.NodeName(n), through[n])
		}
	}
	for name, want := range map[string]float64{"3": 5, "b": 12.5} { // b ends 2.5 s before a does
		if got := through[node(t, w, name)]; got != want {
			t.Errorf("the longest path through %s takes %g s, want %g", name, got, want)
		}
	}
}

// On the built-in workflows the longest path is the critical one, with the platform's delays.
func TestThroughIsTheCriticalPath(t *testing.T) {
	for _, g := range FaaSConf() {
		w := compile(t, g)
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = 0.1 + float64(n*n%7)
		}
		for _, d := range []Delays{{}, {Node: 0.02}} {
			through, length := w.Through(times, d)
			path, critical := w.CriticalPath(nil, times, d)
			if !near(length, critical, 1e-9) {
				t.Errorf("%s: the longest path takes %g s, the critical one %g s", g.Name, length, critical)
			}
			for _, n := range path {
				if !near(through[n], length, 1e-9) {
					t.Errorf("%s: through %s %g s, want %g s", g.Name, w.NodeName(n), through[n], length)
				}
			}
		}
	}
}
