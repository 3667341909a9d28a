package workflow

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// kinds counts the parts of each kind below a part.
func kinds(p Part) (n [4]int) {
	n[p.Kind]++
	for _, q := range p.Parts {
		for k, c := range kinds(q) {
			n[k] += c
		}
	}
	return n
}

// The parts have the response time of the graph at any times, here 20 of each of many graphs.
func TestPartsAreTheResponse(t *testing.T) {
	graphs := []Graph{
		New("crossing", Fork("a", "b", "c"), Chain("b", "d"), Chain("b", "e"), Chain("c", "e"), Join("f", "d", "e")),
		New("branch below a fork", Fork("a", "b", "c"), Choice("b", To("d", 0.3), To("e", 0.7)), Join("f", "c", "d", "e")),
		New("fork below a branch", Choice("a", To("b", 0.3), To("c", 0.7)), Fork("b", "d", "e"), Join("f", "c", "d", "e")),
		New("a branch into a fork", Choice("a", To("b", 0.3), To("c", 0.7)), Fork("b", "c", "d"), Join("f", "c", "d")),
		New("ends apart", Fork("a", "b", "c"), Chain("b", "d")),
		New("loop in an arm", Fork("a", "b", "c"), Repeat("b", "b", 0.4), Choice("b", To("d", 0.6)), Join("d", "c")),
		New("a fork that repeats itself", Repeat("a", "a", 0.4), Choice("a", To("b", 0.6)), Chain("a", "c"), Join("d", "b", "c")),
		New("a fork that repeats itself and ends", Repeat("a", "a", 0.2), Choice("a", To("b", 0.8)), Chain("a", End)),
		{Name: "a fork that repeats itself and calls", Nodes: []Node{{Name: "a", Calls: Together}, {Name: "b"}, {Name: "c"}, {Name: "d"}},
			Edges: slices.Concat(Repeat("a", "a", 0.2), Choice("a", To("b", 0.8)), Chain("a", End), Calls("a", "c", "d"))},
		FaaSConfParallel(),
	}
	for _, app := range prcp() {
		graphs = append(graphs, app.graph)
	}
	for _, shape := range Shapes() {
		for seed := range uint64(30) {
			g := must.Get(Generate(GenerateConfig{Functions: 5 + int(seed%20), Seed: seed, Shape: shape}))(t)
			graphs = append(graphs, g)
		}
	}
	for _, g := range graphs {
		w := compile(t, g)
		for _, d := range []Delays{{}, {Node: 0.2, Edge: 0.05}, {Node: 0.2, Edge: 0.05, Count: Published}} {
			p, err := w.Parts(d)
			if err != nil {
				t.Error(err)
				continue
			}
			draw := rng.NewStream(7, g.Name)
			times := make([]float64, w.NumNodes())
			for range 20 {
				for n := range times {
					times[n] = math.Exp(4 * (draw.Float64() - 0.5))
				}
				if got, want := p.Seconds(times), w.Response(times, d); !near(got, want, 1e-9*want) {
					t.Errorf("%s: parts take %v s, the graph %v s", g.Name, got, want)
				}
			}
		}
	}
}

func TestPartsKinds(t *testing.T) {
	for _, c := range []struct {
		graph    Graph
		crossing int
		parallel int
	}{
		{New("diamond", Fork("a", "b", "c"), Join("d", "b", "c")), 0, 1},
		{New("complete", Fork("a", "b", "c"), Fork("b", "d", "e"), Fork("c", "d", "e"), Join("f", "d", "e")), 0, 2},
		{New("shortcut", Fork("a", "b", "c"), Join("c", "b")), 0, 0},
		{New("branch", Choice("a", To("b", 0.3), To("c", 0.7)), Join("d", "b", "c")), 0, 0},
		{New("crossing", Fork("a", "b", "c"), Chain("b", "d"), Chain("b", "e"), Chain("c", "e"), Join("f", "d", "e")), 1, 0},
		{New("crossing in an arm", Fork("s", "a", "x"), Fork("a", "b", "c"), Chain("b", "d"), Chain("b", "e"), Chain("c", "e"),
			Join("f", "d", "e"), Join("g", "x", "f")), 1, 1},
		{New("branch below a fork", Fork("a", "b", "c"), Choice("b", To("d", 0.3), To("e", 0.7)), Join("f", "c", "d", "e")),
			1, 0},
	} {
		p := must.Get(compile(t, c.graph).Parts(Delays{}))(t)
		n := kinds(p)
		if n[Other] != c.crossing || n[Parallel] != c.parallel {
			t.Errorf("%s has %d crossing and %d parallel parts, want %d and %d", c.graph.Name, n[Other], n[Parallel],
				c.crossing, c.parallel)
		}
	}
}
