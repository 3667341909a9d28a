//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	lib "github.com/sugarme/gotch/libtch"
)

// lossCall is a loss's operands.
type lossCall struct {
	e           *engine
	name        string
	value, grad *tensor
	args        []*tensor
	agents, per int // values of one agent in the first arg
}

// Loss implements [nets.Engine]. Values are written as the losses' equations say; gradients are libtorch's.
func (e *engine) Loss(l nets.Loss, value, grad nets.Tensor, args ...nets.Tensor) {
	if e.stopped("Loss") {
		return
	}
	if l == nil {
		e.fail("Loss", "no loss")
		return
	}
	c := lossCall{e: e, name: l.LossName()}
	if !c.take(l, value, grad, args) {
		return
	}
	switch l := l.(type) {
	case nets.SquaredError:
		c.differentiate(func(s *scope, x handle) handle {
			d := s.sub(x, c.args[1].h)
			return c.means(s, s.mul(d, d))
		})
	case nets.Huber:
		c.differentiate(func(s *scope, x handle) handle { return c.means(s, s.huber(x, c.args[1].h, l.Delta)) })
	case nets.Ascent:
		c.differentiate(func(s *scope, x handle) handle { return s.negative(c.means(s, x)) })
	case nets.Penalty:
		c.differentiate(func(s *scope, x handle) handle { return s.times(c.means(s, s.mul(x, x)), l.Coef) })
	case nets.Temperature:
		c.differentiate(func(s *scope, x handle) handle {
			beyond := s.add(c.args[1].h, s.filled(c.e, l.Target))
			return s.negative(c.means(s, s.mul(x, beyond)))
		})
	case nets.PolicyGradient:
		c.policy(policyLoss{entropy: l.Entropy})
	case nets.ClippedSurrogate:
		c.policy(policyLoss{entropy: l.Entropy, clipped: true, clip: l.Clip})
	case nets.Custom:
		c.custom(l)
	default:
		e.fail("Loss", "%s (%T) is not computed by this engine, but a nets.Custom would be", c.name, l)
	}
}

// take stores a loss's operands, if they are this engine's tensors and have the shapes that the loss needs.
func (c *lossCall) take(l nets.Loss, value, grad nets.Tensor, args []nets.Tensor) bool {
	shapes := make([][]int, 0, len(args))
	for _, a := range args {
		x := c.e.take("Loss", "an arg", a)
		if x == nil {
			return false
		}
		c.args, shapes = append(c.args, x), append(shapes, x.shape)
	}
	if c.value = c.e.take("Loss", "the value", value); c.value == nil {
		return false
	}
	if len(args) > 0 {
		if c.grad = c.e.alike("Loss", "the gradient", grad, c.args[0]); c.grad == nil {
			return false
		}
	}
	if err := nets.CheckLoss(l, c.value.shape, shapes); err != nil {
		c.e.fail("Loss", "%w", err)
		return false
	}
	c.agents = shapes[0][0]
	c.per = c.grad.n / c.agents
	return true
}

// means is the mean of each agent's values.
func (c *lossCall) means(s *scope, x handle) handle { return s.means(x, c.agents, c.per) }

// differentiate computes each agent's value by f from arg 0, and writes the values and the gradient of their sum.
func (c *lossCall) differentiate(f func(s *scope, x handle) handle) {
	s := c.e.tmp
	c.e.within("Loss", s, true, func() {
		x := s.leaf(c.args[0].h)
		values := f(s, x)
		total := s.total(values)
		enter(false)
		one := s.zeros(c.e.code, c.e.device)
		if s.err == nil {
			lib.AtgAddScalar_(s.out(), one, numbers().one)
			s.drop("add_", one)
		}
		if s.err == nil {
			inputs, targets := [1]unsafe.Pointer{unsafe.Pointer(x)}, [1]unsafe.Pointer{unsafe.Pointer(c.grad.h)}
			s.check("backward", C.sto_backward(unsafe.Pointer(total), unsafe.Pointer(one), nil, nil, 0, &inputs[0],
				&targets[0], 1), total)
		}
		s.copy(c.value.h, s.detach(values))
		if s.err != nil {
			c.e.fail("Loss", "%s: %w", c.name, s.err)
		}
	})
	s.clear()
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

// custom calls a user's loss on the host with the args and with zeroed slices for value and gradient.
func (c *lossCall) custom(l nets.Custom) {
	c.e.recording.Load().refuse("the loss %s is computed on the host", c.name)
	value, grad := make([]float64, c.agents), make([]float64, c.grad.n)
	args, shapes := make([][]float64, len(c.args)), make([][]int, len(c.args))
	for i, a := range c.args {
		args[i], shapes[i] = make([]float64, a.n), a.shape
		a.Get64(args[i])
	}
	l.Func(value, grad, args, shapes)
	c.value.Set64(value)
	c.grad.Set64(grad)
}
