package workflow

// rounding says how a law is put on the grid.
type rounding int

const (
	nearest rounding = iota // to both neighbours, so that the mean stays
	down
	up
)

// lattice returns a law's probabilities at the grid's points: times are shifted by a delay first. What lies beyond the
// grid is missing.
func lattice(l Law, shift float64, g Grid, way rounding) []float64 {
	out := make([]float64, g.Points)
	above := func(s float64) float64 {
		if s < shift {
			return 1
		}
		return min(1, max(0, l.Above(s-shift)))
	}
	before := above(0)
	out[0] = 1 - before
	for k := range out {
		s := float64(float64(k) * g.Step)
		after := min(before, above(s+g.Step))
		mass := before - after
		if mass == 0 {
			continue
		}
		share := 1.0 // of the mass that goes to the upper point
		switch way {
		case down:
			share = 0
		case nearest:
			// The law is read within the step to keep its mean: more often where much of it is within one.
			fine := 8
			if mass > 1.0/16 {
				fine = 64
			}
			var area float64
			for i := range fine {
				area += above(s + float64(g.Step*((float64(i)+0.5)/float64(fine))))
			}
			share = min(1, max(0, (area/float64(fine)-after)/mass))
		}
		if k+1 < len(out) {
			out[k+1] += float64(mass * share)
		}
		out[k] += float64(mass * (1 - share))
		before = after
	}
	return out
}

// fixed is a time that does not vary.
type fixed float64

func (f fixed) Mean() float64 { return float64(f) }

func (f fixed) Above(s float64) float64 {
	if s < float64(f) {
		return 1
	}
	return 0
}

// sums turns probabilities into a distribution function, in place.
func sums(mass []float64) {
	var sum, most float64
	for i, p := range mass {
		sum += p
		most = min(1, max(sum, most))
		mass[i] = most
	}
}
