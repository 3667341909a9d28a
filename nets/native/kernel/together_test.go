package kernel

import (
	"fmt"
	"testing"
)

// ScoresTogether gives each agent the bits of Scores, MixTogether the results of Mix, and both assemblies the same
// bits.
func TestTogether(t *testing.T) {
	sets := withReference(t)
	times(t, "Pack, ScoresTogether, MixTogether", 16, 150, func(d *draws) {
		agents := []int{2, 3, 4, 6}[d.IntN(4)]
		n, rows, e, parts := d.lanesOf(), d.between(0, 13), d.between(0, 17), d.between(1, 6)
		size := (rows + d.IntN(2)) * n
		at := d.neighbours(e, size, parts)
		base := d.slice((parts-1)*size + rows*n)
		qs, ws := rows*n+d.IntN(3)*n, e*n+d.IntN(3)*n // strides between agents
		q, w := d.slice((agents-1)*qs+rows*n), d.slice((agents-1)*ws+e*n)
		packed, weights := d.output(agents*rows*n), d.output(agents*e*n)
		scores, mixed := d.output((agents-1)*ws+e*n), d.output((agents-1)*qs+rows*n)
		for i, s := range sets {
			one, sum := append([]float32{}, scores.of(i)...), append([]float32{}, mixed.of(i)...)
			s.Pack(packed.of(i), q, qs, agents, rows, n)
			s.Pack(weights.of(i), w, ws, agents, e, n)
			s.ScoresTogether(scores.of(i), ws, packed.of(i), base, at, agents, rows, n, 0.25)
			s.MixTogether(mixed.of(i), qs, weights.of(i), base, at, agents, rows, n)
			if d.special > 0 {
				continue // sums of NaN and infinities
			}
			for k := range agents {
				s.Scores(one[k*ws:], q[k*qs:], base, at, rows, n, 0.25)
				alone := make([]float32, rows*n)
				s.Mix(alone, w[k*ws:], base, at, rows, n)
				for j, v := range alone { // Mix overwrites, MixTogether adds
					sum[k*qs+j] += v
				}
			}
			for j, v := range scores.of(i) {
				if !same(v, one[j]) {
					t.Fatalf("%s: %d agents together: score %d is %g, alone %g", s.Name, agents, j, v, one[j])
				}
			}
			for j, v := range mixed.of(i) {
				if !near(v, sum[j], 1e-5) {
					t.Fatalf("%s: %d agents together: mixture %d is %g, alone %g", s.Name, agents, j, v, sum[j])
				}
			}
		}
		what := fmt.Sprintf("%d agents, %d neighbours of %d × %d", agents, e, rows, n)
		packed.check(t, "pack, "+what, sets, 0)
		weights.check(t, "pack, "+what, sets, 0)
		scores.check(t, "scores, "+what, sets, 1e-5)
		mixed.check(t, "mix, "+what, sets, 1e-5)
	})
}

// MixTogether over parts of the neighbours, from zeros, gives the bits of Mix over all of them.
func TestMixInParts(t *testing.T) {
	for _, s := range assemblies(t) {
		d := newDraws(t, 17)
		for range 50 {
			const n, agents = 32, 3
			rows, e := d.between(1, 15), d.between(1, 40)
			at := d.neighbours(e, rows*n, 5)
			base, w := d.slice(5*rows*n), d.slice(agents*e*n)
			cut := d.IntN(e + 1)
			got, want, packed := make([]float32, agents*rows*n), make([]float32, rows*n), make([]float32, agents*e*n)
			for _, part := range [][2]int{{0, cut}, {cut, e}} {
				s.Pack(packed, w[part[0]*n:], e*n, agents, part[1]-part[0], n)
				s.MixTogether(got, rows*n, packed, base, at[part[0]:part[1]], agents, rows, n)
			}
			for i := range agents {
				s.Mix(want, w[i*e*n:], base, at, rows, n)
				for j, v := range want {
					if !same(v, got[i*rows*n+j]) {
						t.Fatalf("%s: agent %d: [%d] is %g in parts, %g at once", s.Name, i, j, got[i*rows*n+j], v)
					}
				}
			}
		}
	}
}

// Fewer splits every number of agents from 2 into sizes that Together accepts, so that none is left alone.
func TestFewer(t *testing.T) {
	for n := 2; n < 100; n++ {
		for left := n; left > 0; {
			k := Fewer(left)
			if !Together(k) || k > left {
				t.Fatalf("Fewer(%d) = %d", left, k)
			}
			left -= k
		}
	}
	if Together(1) || Together(5) || Together(7) || Fewer(1) != 1 {
		t.Error("Together accepts 1, 5 or 7, or Fewer(1) is not 1")
	}
}
