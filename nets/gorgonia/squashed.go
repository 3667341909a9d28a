package gorgonia

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
)

// squashed is [nets.SquashedGaussian] of the unit's agent.
func (u *unit[T]) squashed(g nets.SquashedGaussian) {
	const half, middle = (nets.LogStdMax - nets.LogStdMin) / 2.0, (nets.LogStdMax + nets.LogStdMin) / 2.0
	b, n := u.graph, g.Actions
	mean, r, noise := u.feature(0, u.agent, 0, n), u.feature(0, u.agent, n, n), u.feature(1, u.agent, 0, n)
	logStd := b.plus(b.scaled(b.tanh(r), half), middle)
	x := b.add(mean, b.times(b.exp(logStd), noise))
	if !g.LogProb {
		u.output(0, n, b.tanh(x))
		return
	}
	// ln(1 − tanh² x) = 2(ln 2 − |x| − ln(1 + e^(−2|x|)))
	size := b.abs(x)
	logFlat := b.scaled(b.plus(b.neg(b.add(size, b.log(b.plus(b.exp(b.scaled(size, -2)), 1)))), math.Ln2), 2)
	normal := b.plus(b.sub(b.scaled(b.times(noise, noise), -0.5), logStd), -math.Log(2*math.Pi)/2)
	u.output(0, 1, b.total(b.sub(normal, logFlat), n, 1))
}

// softValue is [nets.SoftValue] of the unit's agent. The gradient of the minimum goes to one critic, the first of equal
// ones.
func (u *unit[T]) softValue() {
	b := u.graph
	q1, q2 := u.feature(0, u.agent, 0, 1), u.feature(1, u.agent, 0, 1)
	second := b.above(b.sub(q1, q2), 0)
	q := b.add(b.times(b.not(second), q1), b.times(second, q2))
	u.output(0, 1, b.sub(q, b.times(b.exp(u.feature(3, u.agent, 0, 1)), u.feature(2, u.agent, 0, 1))))
}
