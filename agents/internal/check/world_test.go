package check

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
)

func TestKinds(t *testing.T) {
	one := envs.Spec{ID: "test/E-v1", Kinds: []envs.Kind{{Name: "a", Observation: envs.Unbounded(2)}}}
	two := envs.Spec{ID: "test/E-v1", Kinds: make([]envs.Kind, 2)}
	graph := envs.Spec{ID: "test/E-v1", Kinds: []envs.Kind{{Name: "a", Observation: envs.Graph{}}}}
	if k, err := Vector(&one); err != nil || k != &one.Kinds[0] {
		t.Errorf("%v, %v", k, err)
	}
	if _, err := OneKind(&graph); err != nil {
		t.Error(err)
	}
	for want, s := range map[string]*envs.Spec{
		"test/E-v1 has 2 kinds of agents, want one":  &two,
		"test/E-v1: observation space of a is graph": &graph,
	} {
		if _, err := Vector(s); err == nil || !strings.HasPrefix(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Wherever the number stands that is not finite, it is named.
func TestNotFinite(t *testing.T) {
	if i := envs.NotFinite([]float32{math.MaxFloat32, math.MaxFloat32, -1, -math.MaxFloat32}); i != -1 {
		t.Errorf("huge numbers: %d", i)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for n := range 19 {
			x := make([]float32, 19)
			if i := envs.NotFinite(x); i != -1 {
				t.Fatalf("zeros: %d", i)
			}
			x[n] = float32(bad)
			if i := envs.NotFinite(x); i != n {
				t.Errorf("%g at %d is found at %d", bad, n, i)
			}
		}
	}
}
