//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"slices"
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
	if !c.take(value, grad, args) {
		return
	}
	switch l := l.(type) {
	case nets.SquaredError:
		if c.wants(whole, whole) {
			c.differentiate(func(s *scope, x handle) handle {
				d := s.sub(x, c.args[1].h)
				return c.means(s, s.mul(d, d))
			})
		}
	case nets.Huber:
		if c.wants(whole, whole) && c.inRange("delta", l.Delta, l.Delta > 0) {
			c.differentiate(func(s *scope, x handle) handle {
				return c.means(s, s.huber(x, c.args[1].h, l.Delta))
			})
		}
	case nets.Ascent:
		if c.wants(whole) {
			c.differentiate(func(s *scope, x handle) handle { return s.negative(c.means(s, x)) })
		}
	case nets.Penalty:
		if c.wants(whole) {
			c.differentiate(func(s *scope, x handle) handle { return s.times(c.means(s, s.mul(x, x)), l.Coef) })
		}
	case nets.PolicyGradient:
		if c.wants(whole, column, column, whole) {
			c.policy(policyLoss{entropy: l.Entropy})
		}
	case nets.ClippedSurrogate:
		if c.wants(whole, column, column, whole, column) && c.inRange("clip", l.Clip, l.Clip >= 0) {
			c.policy(policyLoss{entropy: l.Entropy, clipped: true, clip: l.Clip})
		}
	case nets.Custom:
		c.custom(l)
	default:
		e.fail("Loss", "%s (%T) is not computed by this engine, but a nets.Custom would be", c.name, l)
	}
}

// take keeps the operands of a loss, if their kinds and the shapes of results fit.
func (c *lossCall) take(value, grad nets.Tensor, args []nets.Tensor) bool {
	for _, a := range args {
		x := c.e.take("Loss", "an arg", a)
		if x == nil {
			return false
		}
		c.args = append(c.args, x)
	}
	if len(args) == 0 {
		c.e.fail("Loss", "%s has no args, want at least 1", c.name)
		return false
	}
	if c.grad = c.e.alike("Loss", "the gradient", grad, c.args[0]); c.grad == nil {
		return false
	}
	if c.value = c.e.take("Loss", "the value", value); c.value == nil {
		return false
	}
	s := c.args[0].shape
	if len(s) == 0 || c.grad.n == 0 || !slices.Equal(c.value.shape, s[:1]) {
		c.e.fail("Loss", "%s: the value has shape %v and arg 0 %v, want [agents] and [agents, batch, …]", c.name,
			c.value.shape, s)
		return false
	}
	c.agents, c.per = s[0], c.grad.n/s[0]
	return true
}

// argShape is what a loss wants of an arg.
type argShape uint8

const (
	whole  argShape = iota // the shape of arg 0
	column                 // [agents, batch, 1], where arg 0 is [agents, batch, n]
)

// wants checks the number and the shapes of the args.
func (c *lossCall) wants(shapes ...argShape) bool {
	if len(c.args) != len(shapes) {
		c.e.fail("Loss", "%s has %d args, want %d", c.name, len(c.args), len(shapes))
		return false
	}
	first := c.args[0].shape
	for i, s := range shapes {
		got := c.args[i].shape
		if s == whole && !slices.Equal(got, first) {
			c.e.fail("Loss", "%s: arg %d has shape %v, want %v", c.name, i, got, first)
			return false
		}
		if s == column && (len(first) != 3 || !slices.Equal(got, []int{first[0], first[1], 1})) {
			c.e.fail("Loss", "%s: arg %d has shape %v and arg 0 %v, want [agents batch 1] and [agents batch n]",
				c.name, i, got, first)
			return false
		}
	}
	return true
}

// inRange reports a constant of the loss that is out of range.
func (c *lossCall) inRange(field string, value float64, ok bool) bool {
	if !ok {
		c.e.fail("Loss", "%s: %s is %g, want it positive", c.name, field, value)
	}
	return ok
}

// means takes the mean of each agent's values.
func (c *lossCall) means(s *scope, x handle) handle { return s.means(x, c.agents, c.per) }

// differentiate has f compute each agent's value from arg 0, and writes it and the gradient of their sum.
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
	if s.err != nil {
		return nil
	}
	const elementwise = 0
	lib.AtgHuberLoss(s.out(), x, y, elementwise, delta)
	return s.keep("huber_loss", x, y)
}

func (s *scope) negative(x handle) handle { return s.apply("neg", lib.AtgNeg, x) }

// times multiplies by a number that is not worth keeping.
func (s *scope) times(x handle, v float64) handle {
	c := lib.AtsFloat(v)
	defer lib.AtsFree(c)
	return s.scale(x, c)
}

// custom runs a user's loss on the host: args in, value and gradient, both zeroed, out.
func (c *lossCall) custom(l nets.Custom) {
	if l.Func == nil {
		c.e.fail("Loss", "%s has no function", c.name)
		return
	}
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
