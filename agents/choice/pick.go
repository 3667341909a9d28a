package choice

import (
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// None is what picking returns where no choice is legal.
const None = -1

// Number is a score.
type Number interface{ float32 | float64 }

// Best is the first of the legal choices with the largest score, [None] where the mask allows none. No mask allows all.
func Best[N Number](scores []N, mask []bool) int {
	best := None
	for i := range scores {
		if legal(mask, i) && (best == None || scores[i] > scores[best]) {
			best = i
		}
	}
	return best
}

func legal(mask []bool, i int) bool { return mask == nil || mask[i] }

// Uniform is a legal choice drawn uniformly, [None] where there is none.
func Uniform(mask []bool, s *rng.Stream) int {
	n := 0
	for _, ok := range mask {
		if ok {
			n++
		}
	}
	if n == 0 {
		return None
	}
	n = s.IntN(n)
	for i, ok := range mask {
		if ok {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return None
}

// Softmax writes the probabilities of a softmax over the legal choices, 0 for the others, to p. Without a legal choice
// all are 0; no mask allows all.
func Softmax[N Number](p []float64, scores []N, mask []bool) {
	clear(p)
	best := Best(scores, mask)
	if best == None {
		return
	}
	top, sum := float64(scores[best]), 0.0
	for i := range scores {
		if legal(mask, i) {
			p[i] = portable.Exp(float64(scores[i]) - top)
			sum += p[i]
		}
	}
	for i := range p {
		p[i] /= sum
	}
}

// Draw picks choice i with probability p[i] for a u in [0, 1), never one of probability 0; [None] where all are.
func Draw(p []float64, u float64) int {
	last := None
	for i, x := range p {
		if x <= 0 {
			continue
		}
		last = i
		if u < x {
			return i
		}
		u -= x
	}
	return last // rounding left a little of u
}
