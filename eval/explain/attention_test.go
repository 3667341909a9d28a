package explain

import (
	"math"
	"testing"
)

// Entropy and distance from equal weights are those computed by hand, over agents with at least two neighbours; links
// are divided by the load of the states.
func TestAttentionSums(t *testing.T) {
	a := &attention{agents: 3, all: newSums(3, 2), low: newSums(3, 2), high: newSums(3, 2), entropy: make([]float64, 2),
		elsewhere: make([]float64, 2), counted: make([]float64, 2), squares: make([]float64, 9), first: make([]float64, 9),
		byLoad: true}
	for episode := range 2 {
		a.add(0, episode, -1, []float32{0, 0.5, 0.5})
		a.add(0, episode, 1, []float32{0, 0.9, 0.1})
		a.add(1, episode, 0, []float32{1, 0, 0}) // one neighbour: nothing to choose
	}
	s := a.summary()
	entropy := (1 - (0.9*math.Log(0.9)+0.1*math.Log(0.1))/math.Log(2)) / 2
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	near("entropy", s.Entropy.Value, entropy)
	near("the share elsewhere", s.Elsewhere.Value, 0.2)
	near("the deviation over states", s.Varies, 0.2)
	near("the change by load", *s.ByLoad, 0.4)
	if s.Agents != 1 || s.Alone != 1 {
		t.Errorf("%d agents with two neighbours and %d with one, want 1 and 1", s.Agents, s.Alone)
	}
	links := a.links()
	if len(links) != 3 {
		t.Fatalf("links %+v, want three", links)
	}
	near("the weight of a link", links[0].Weight.Value, 0.7)
	near("its weight under low load", links[0].LowLoad.Value, 0.5)
	near("its weight under high load", links[0].HighLoad.Value, 0.9)
	near("equal weights", links[0].Equal, 0.5)
	near("that of one neighbour", links[2].Equal, 1)
}
