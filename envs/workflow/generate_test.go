package workflow

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// Generated workflows have the wanted number of functions, each at one node, are valid, and follow from the seed.
func TestGenerate(t *testing.T) {
	kinds := map[Kind]int{}
	modes := map[CallMode]int{}
	for _, n := range []int{5, 6, 7, 12, 50, 200, 1000} {
		for seed := range uint64(20) {
			g := must.Get(Generate(GenerateConfig{Functions: n, Seed: seed}))(t)
			w, err := g.Compile()
			if err != nil {
				t.Fatalf("%d functions, seed %d: %v", n, seed, err)
			}
			if w.NumFunctions() != n || w.NumNodes() != n {
				t.Errorf("%d functions, seed %d: %d functions at %d nodes", n, seed, w.NumFunctions(), w.NumNodes())
			}
			for _, e := range w.Graph().Edges {
				kinds[e.Kind]++
			}
			for _, x := range w.Graph().Nodes {
				modes[x.Calls]++
			}
			for m, x := range w.Executions() {
				if !(x > 0 && x <= 1) || math.IsNaN(x) {
					t.Errorf("%d functions, seed %d: node %d runs %v times in a request", n, seed, m, x)
				}
			}
			if d := w.Depth(); n == 1000 && d[len(d)-1] > 60 {
				t.Errorf("seed %d: 1000 functions in %d layers", seed, d[len(d)-1])
			}
			again, err := Generate(GenerateConfig{Functions: n, Seed: seed})
			if err != nil || !reflect.DeepEqual(g, again) {
				t.Errorf("%d functions, seed %d: two workflows", n, seed)
			}
		}
	}
	if kinds[Next] == 0 || kinds[Branch] == 0 || kinds[Call] == 0 || modes[Together] == 0 {
		t.Errorf("edges are of kinds %v, calls of modes %v, want all but loops", kinds, modes)
	}
	a, _ := Generate(GenerateConfig{Functions: 20, Seed: 1})
	b, _ := Generate(GenerateConfig{Functions: 20, Seed: 2})
	if reflect.DeepEqual(a.Edges, b.Edges) {
		t.Error("seeds 1 and 2 give the same edges")
	}
	for _, n := range []int{-1, 0, 4, 1001, math.MaxInt} {
		if _, err := Generate(GenerateConfig{Functions: n, Seed: 1}); err == nil || !strings.Contains(err.Error(), "functions is") {
			t.Errorf("%d functions: %v", n, err)
		}
	}
}

func FuzzGenerate(f *testing.F) {
	f.Add(5, uint64(0))
	f.Add(1000, uint64(1)<<63)
	f.Fuzz(func(t *testing.T, n int, seed uint64) {
		if n > 200 {
			n = 5 + n%200 // large ones are in TestGenerate
		}
		g, err := Generate(GenerateConfig{Functions: n, Seed: seed})
		if (err != nil) != (n < 5) {
			t.Fatalf("%d functions, seed %d: %v", n, seed, err)
		}
		if err != nil {
			return
		}
		if w, err := g.Compile(); err != nil || w.NumFunctions() != n {
			t.Fatalf("%d functions, seed %d: %v", n, seed, err)
		}
	})
}
