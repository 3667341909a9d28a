package sim

import (
	"testing"

	"pgregory.net/rapid"
)

// The placement policies choose as a plain scan over all nodes does.
func TestFinder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sim
		s.plan = &plan{cfg: Config{Placement: Placement(rapid.IntRange(0, int(placements)-1).Draw(t, "placement"))}}
		for range rapid.IntRange(1, 40).Draw(t, "nodes") {
			n := Node{rapid.Int32Range(0, 9).Draw(t, "cpu"), rapid.Int32Range(0, 9).Draw(t, "memory"),
				rapid.Int32Range(0, 3).Draw(t, "gpu")}
			s.plan.cfg.Nodes = append(s.plan.cfg.Nodes, n)
			s.nodes = append(s.nodes, node{free: n})
		}
		s.finder.reset(s.plan.cfg.Placement, s.nodes)
		type placed struct {
			k int32
			z Sizing
		}
		var on []placed
		cursor := int32(0)
		t.Repeat(map[string]func(*rapid.T){
			"place": func(t *rapid.T) {
				z := Sizing{CPU: rapid.Int32Range(0, 5).Draw(t, "cpu"), Memory: rapid.Int32Range(0, 5).Draw(t, "memory"),
					GPU: rapid.Int32Range(0, 2).Draw(t, "gpu")}
				want, n := int32(none), int32(len(s.nodes))
				for j := range n {
					k := j
					if s.plan.cfg.Placement == SpreadFit {
						k = (cursor + j) % n
					}
					if !s.nodes[k].free.holds(&z) {
						continue
					}
					if want == none || s.plan.cfg.Placement == BestFit && less(s.nodes, k, want) {
						want = k
					}
				}
				got := s.findNode(&z)
				if got != want {
					t.Fatalf("placed %+v on node %d, want %d of %+v", z, got, want, s.nodes)
				}
				if got != none {
					cursor = (got + 1) % n
					s.nodeTake(got, &z, 1)
					on = append(on, placed{got, z})
				}
			},
			"leave": func(t *rapid.T) {
				if len(on) > 0 {
					i := rapid.IntRange(0, len(on)-1).Draw(t, "which")
					s.nodeTake(on[i].k, &on[i].z, -1)
					on = append(on[:i], on[i+1:]...)
				}
			},
		})
	})
}
