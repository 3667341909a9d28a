//go:build libtorch

package torch

import (
	"math"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
)

// gumbel is [nets.GumbelSoftmax]: a softmax of each segment of (logits + noise)/temperature. With hard the values are
// one-hot, and gradients pass as if they were the softmax's (straight-through).
type gumbel struct {
	segments []int
	inverse  lib.Cscalar // 1/temperature
	hard     bool
}

func (n *net) newGumbel(g nets.GumbelSoftmax) *gumbel {
	return &gumbel{segments: g.Segments, inverse: n.b.number(1 / g.Temperature), hard: g.Hard}
}

// build implements graph.
func (g *gumbel) build(s *scope, in []handle, _ int) (root, values handle) {
	x := s.scale(s.add(in[0], in[1]), g.inverse)
	soft, hard := make([]handle, 0, len(g.segments)), make([]handle, 0, len(g.segments))
	at := 0
	for _, n := range g.segments {
		y := s.softmax(s.narrow(x, 2, at, n))
		soft = append(soft, y)
		if g.hard {
			hard = append(hard, s.oneHot(y))
		}
		at += n
	}
	root = s.cat(soft...)
	if g.hard {
		return root, s.cat(hard...)
	}
	return root, root
}

// oneHot is 1 at the first largest value of the last dimension and 0 elsewhere. A NaN makes the whole dimension NaN.
func (s *scope) oneHot(y handle) handle {
	y = s.detach(y)
	choice := s.call("argmax", func(out *handle) { lib.AtgArgmax(out, y, -1, 0, 1) }, y)
	none := s.sub(y, y) // 0, or NaN
	marked := s.call("scatter", func(out *handle) { lib.AtgScatterValue(out, none, -1, choice, numbers().one) }, none, choice)
	return s.add(marked, none)
}

// squashed is [nets.SquashedGaussian].
type squashed struct {
	actions           int
	logProb           bool
	half, middle, ln2 lib.Cscalar // of the range of ln σ; ln 2
	base              lib.Cscalar // −½ ln 2π
	minusHalf         lib.Cscalar
	minusTwo          lib.Cscalar
}

func (n *net) newSquashed(g nets.SquashedGaussian) *squashed {
	return &squashed{
		actions: g.Actions, logProb: g.LogProb,
		half: n.b.number((nets.LogStdMax - nets.LogStdMin) / 2.0), middle: n.b.number((nets.LogStdMax + nets.LogStdMin) / 2.0),
		ln2: n.b.number(math.Ln2), base: n.b.number(-math.Log(2*math.Pi) / 2),
		minusHalf: n.b.number(-0.5), minusTwo: n.b.number(-2),
	}
}

// build implements graph.
func (g *squashed) build(s *scope, in []handle, _ int) (root, values handle) {
	mean, r := s.narrow(in[0], 2, 0, g.actions), s.narrow(in[0], 2, g.actions, g.actions)
	logStd := s.plus(s.scale(s.apply("tanh", lib.AtgTanh, r), g.half), g.middle)
	u := s.addcmul(mean, s.apply("exp", lib.AtgExp, logStd), in[1])
	if !g.logProb {
		a := s.apply("tanh", lib.AtgTanh, u)
		return a, a
	}
	// ln(1 − tanh² u) = 2(ln 2 − |u| − ln(1 + e^(−2|u|)))
	size := s.apply("abs", lib.AtgAbs, u)
	tail := s.apply("log1p", lib.AtgLog1p, s.apply("exp", lib.AtgExp, s.scale(size, g.minusTwo)))
	logFlat := s.plus(s.negative(s.add(size, tail)), g.ln2)
	normal := s.plus(s.sub(s.scale(s.mul(in[1], in[1]), g.minusHalf), logStd), g.base)
	logProb := s.sum(s.add(normal, s.scale(logFlat, g.minusTwo)))
	return logProb, logProb
}

// softValue is [nets.SoftValue].
type softValue struct{}

// build implements graph. The gradient of the minimum goes to one critic, the first of equal ones.
func (softValue) build(s *scope, in []handle, _ int) (root, values handle) {
	q := s.where(s.less(in[1], in[0]), in[1], in[0])
	v := s.sub(q, s.mul(s.apply("exp", lib.AtgExp, in[3]), in[2]))
	return v, v
}
