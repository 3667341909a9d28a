//go:build libtorch

package torch

import (
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
