package choice

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

func TestBest(t *testing.T) {
	for _, k := range []struct {
		scores []float32
		mask   []bool
		want   int
	}{
		{[]float32{1, 3, 3, 2}, []bool{true, true, true, true}, 1},
		{[]float32{1, 3, 3, 2}, []bool{true, false, false, true}, 3},
		{[]float32{-9, 3}, []bool{true, false}, 0},
		{[]float32{1, 2}, []bool{false, false}, None},
	} {
		if got := Best(k.scores, k.mask); got != k.want {
			t.Errorf("best of %v under %v is %d, want %d", k.scores, k.mask, got, k.want)
		}
	}
}

// Draws follow the softmax over the legal choices, and what is illegal is never drawn, whatever its score.
func TestDrawFollowsTheSoftmax(t *testing.T) {
	scores, mask := []float32{0, 50, 1, -1}, []bool{true, false, true, true}
	want := []float64{math.Exp(0), 0, math.Exp(1), math.Exp(-1)}
	total := want[0] + want[2] + want[3]
	p, counts := make([]float64, 4), make([]float64, 4)
	Softmax(p, scores, mask)
	s := rng.NewStream(1, "test")
	const n = 100_000
	for range n {
		counts[Draw(p, s.Float64())]++
	}
	for i, w := range want {
		w /= total
		if math.Abs(p[i]-w) > 1e-15 {
			t.Errorf("choice %d has probability %g, want %g", i, p[i], w)
		}
		if d := math.Abs(counts[i]/n - w); d > 4*math.Sqrt(w*(1-w)/n) {
			t.Errorf("choice %d was drawn in %g of all cases, want %g", i, counts[i]/n, w)
		}
	}
	Softmax(p, scores, make([]bool, 4))
	if c := Draw(p, 0.5); c != None {
		t.Errorf("drew %d where nothing is legal", c)
	}
	if c := Draw([]float64{0, 1, 0}, math.Nextafter(1, 0)); c != 1 {
		t.Errorf("drew %d, want the only one there is", c)
	}
}

func TestUniformIsLegal(t *testing.T) {
	s, counts := rng.NewStream(1, "test"), make([]float64, 4)
	const n = 30_000
	for range n {
		counts[Uniform([]bool{true, false, true, true}, s)]++
	}
	for i, want := range []float64{1. / 3, 0, 1. / 3, 1. / 3} {
		if math.Abs(counts[i]/n-want) > 4*math.Sqrt(want/n) {
			t.Errorf("choice %d in %g of all cases, want %g", i, counts[i]/n, want)
		}
	}
	if c := Uniform(make([]bool, 3), s); c != None {
		t.Errorf("drew %d where nothing is legal", c)
	}
}

func spec(n int) *envs.Spec {
	return &envs.Spec{ID: "test/Choice-v1",
		Kinds: []envs.Kind{{Name: "one", Agents: 2, Observation: envs.NewBox(3, -1, 1), Action: envs.Discrete{N: n}}}}
}

func TestProblemRefuses(t *testing.T) {
	two, box, graph, several := spec(2), spec(2), spec(2), spec(2)
	two.Kinds = append(two.Kinds, two.Kinds[0])
	box.Kinds[0].Action = envs.NewBox(1, 0, 1)
	graph.Kinds[0].Observation = envs.Graph{}
	several.Kinds[0].Action = envs.MultiDiscrete{N: []int{2, 3}}
	for _, k := range []struct {
		s    *envs.Spec
		want string
	}{{two, "2 kinds"}, {box, "want Discrete"}, {graph, "want a vector"}, {several, "2 components"}} {
		if _, err := NewProblem(k.s); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("error %v, want one with %q", err, k.want)
		}
	}
	p, err := NewProblem(spec(4))
	if err != nil || p.N != 4 || p.Obs != 3 || p.Agents != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}
