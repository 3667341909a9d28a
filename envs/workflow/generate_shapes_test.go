package workflow

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// Every shape gives workflows of the wanted number of functions that compile, from 3 to 200 nodes, and follow from the
// seed.
func TestShapes(t *testing.T) {
	kinds := map[Shape]map[Kind]bool{}
	for _, shape := range Shapes()[1:] {
		kinds[shape] = map[Kind]bool{}
		for _, n := range []int{3, 4, 5, 6, 8, 12, 24, 60, 200} {
			for seed := range uint64(10) {
				c := GenerateConfig{Functions: n, Seed: seed, Shape: shape}
				g := must.Get(Generate(c))(t)
				w, err := g.Compile()
				if err != nil {
					t.Fatalf("%s, %d functions, seed %d: %v", shape, n, seed, err)
				}
				if w.NumFunctions() != n || w.NumNodes() != n {
					t.Errorf("%s, %d functions, seed %d: %d functions at %d nodes", shape, n, seed, w.NumFunctions(), w.NumNodes())
				}
				for _, e := range w.Graph().Edges {
					kinds[shape][e.Kind] = true
				}
				for m, x := range w.Executions() {
					if !(x > 0 && x < 50) || math.IsNaN(x) {
						t.Errorf("%s, %d functions, seed %d: node %d runs %v times in a request", shape, n, seed, m, x)
					}
				}
				if again, err := Generate(c); err != nil || !reflect.DeepEqual(g, again) {
					t.Errorf("%s, %d functions, seed %d: two workflows", shape, n, seed)
				}
			}
		}
	}
	for shape, want := range map[Shape][]Kind{Chained: {Next}, Fan: {Next}, Branches: {Next, Branch}, Loops: {Next, Branch, Loop},
		Nested: {Next, Branch, Loop}, Crossing: {Next, Branch}, Overlapping: {Next, Branch, Loop}, Mixed: {Next, Branch, Loop}} {
		for _, k := range []Kind{Next, Branch, Loop} {
			if kinds[shape][k] != slices.Contains(want, k) {
				t.Errorf("%s has edges of kinds %v, want %v", shape, kinds[shape], want)
			}
		}
	}
	for _, c := range []GenerateConfig{{Functions: 2, Shape: Chained}, {Functions: 4, Shape: Blocks}, {Functions: 5, Shape: "star"}} {
		if _, err := Generate(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// The crossing and the overlapping shape have what their names say.
func TestShapesCross(t *testing.T) {
	g, _ := Generate(GenerateConfig{Functions: 24, Seed: 1, Shape: Overlapping})
	at := func(name string) int { return slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == name }) }
	over, before := 0, Edge{}
	for _, e := range g.Edges {
		if e.Kind != Loop {
			continue
		}
		if before.From != "" && at(e.To) < at(before.From) && at(e.To) > at(before.To) {
			over++
		}
		before = e
	}
	if over == 0 {
		t.Errorf("no loop of %v overlaps the one before", g.Edges)
	}
	g, _ = Generate(GenerateConfig{Functions: 24, Seed: 1, Shape: Crossing})
	waits := map[string]int{}
	for _, e := range g.Edges {
		waits[e.To]++
	}
	if len(g.Edges) <= 24 || len(waits) != 23 {
		t.Errorf("%d edges into %d nodes, want more edges than nodes, into all but the entry", len(g.Edges), len(waits))
	}
}
