package gorgonia

import "github.com/stoker-rl/stoker/nets"

// gumbel is [nets.GumbelSoftmax] of the unit's agent: softmax((logits + noise)/temperature) per segment.
// Gradients are always those of this softmax; if the choice is hard, [choose] makes the output one-hot.
func (u *unit[T]) gumbel(g nets.GumbelSoftmax) {
	b := u.graph
	at := 0
	for _, n := range g.Segments {
		z := b.add(u.feature(0, u.agent, at, n), u.feature(1, u.agent, at, n))
		u.output(at, n, b.softmax(b.scaled(z, 1/g.Temperature), n))
		at += n
	}
}

// choose replaces each segment by 1 at its first largest value and 0 elsewhere. A segment with a NaN becomes NaN.
func choose[T number](y []T, segments []int) {
	for at := 0; at < len(y); {
		for _, n := range segments {
			s := y[at:][:n]
			best, fill := 0, T(0)
			for j, v := range s {
				if v > s[best] {
					best = j
				}
				fill += v - v // 0, or NaN
			}
			for j := range s {
				s[j] = fill
			}
			s[best] += 1
			at += n
		}
	}
}
