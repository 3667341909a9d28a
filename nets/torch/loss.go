//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// lossCall is a loss with its operands.
type lossCall struct {
	*core.LossCall[*tensor]
	b *backend
}

// Loss implements [core.Backend]. Values are written as the losses' equations say; gradients are libtorch's.
func (b *backend) Loss(call *core.LossCall[*tensor]) {
	c := lossCall{call, b}
	switch l := c.Law.(type) {
	case nets.SquaredError:
		c.differentiate(func(s *scope, x handle) handle {
			d := s.sub(x, c.Args[1].h)
			return c.means(s, s.mul(d, d))
		})
	case nets.Huber:
		c.differentiate(func(s *scope, x handle) handle { return c.means(s, s.huber(x, c.Args[1].h, l.Delta)) })
	case nets.Ascent:
		c.differentiate(func(s *scope, x handle) handle { return s.negative(c.means(s, x)) })
	case nets.Penalty:
		c.differentiate(func(s *scope, x handle) handle { return s.times(c.means(s, s.mul(x, x)), l.Coef) })
	case nets.Temperature:
		c.differentiate(func(s *scope, x handle) handle {
			beyond := s.add(c.Args[1].h, s.filled(c.b, l.Target))
			return s.negative(c.means(s, s.mul(x, beyond)))
		})
	case nets.PolicyGradient:
		c.policy(policyLoss{entropy: l.Entropy})
	case nets.ClippedSurrogate:
		c.policy(policyLoss{entropy: l.Entropy, clipped: true, clip: l.Clip})
	case nets.Custom:
		b.recording.Load().refuse("the loss %s is computed on the host", l.Name)
		c.Custom(l)
	default:
		c.Unknown()
	}
}

// means is the mean of each agent's values.
func (c *lossCall) means(s *scope, x handle) handle { return s.means(x, c.Agents, c.Per) }

// differentiate computes each agent's value by f from arg 0, and writes the values and the gradient of their sum.
func (c *lossCall) differentiate(f func(s *scope, x handle) handle) {
	s := c.b.idle.take()
	defer c.b.idle.put(s)
	c.b.within("Loss", s, true, func() {
		x := s.leaf(c.Args[0].h)
		values := f(s, x)
		total := s.total(values)
		enter(false)
		one := s.zeros(c.b.code, c.b.device)
		if s.err == nil {
			lib.AtgAddScalar_(s.out(), one, numbers().one)
			s.drop("add_", one)
		}
		if s.err == nil {
			inputs, targets := [1]unsafe.Pointer{unsafe.Pointer(x)}, [1]unsafe.Pointer{unsafe.Pointer(c.Grad.h)}
			s.check("backward", C.sto_backward(unsafe.Pointer(total), unsafe.Pointer(one), nil, nil, 0, &inputs[0],
				&targets[0], 1), total)
		}
		s.copy(c.Value.h, s.detach(values))
		if s.err != nil {
			c.b.Fail("Loss", "%s: %w", c.Law.LossName(), s.err)
		}
	})
}

// huber is ½d² where |d| ≤ delta and delta(|d| − ½delta) elsewhere.
func (s *scope) huber(x, y handle, delta float64) handle {
	const elementwise = 0
	return s.call("huber_loss", func(out *handle) { lib.AtgHuberLoss(out, x, y, elementwise, delta) }, x, y)
}

func (s *scope) negative(x handle) handle { return s.apply("neg", lib.AtgNeg, x) }

// times multiplies by a number for which no scalar is stored.
func (s *scope) times(x handle, v float64) handle {
	c := lib.AtsFloat(v)
	defer lib.AtsFree(c)
	return s.scale(x, c)
}
