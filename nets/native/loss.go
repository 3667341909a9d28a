package native

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// lossCall is a loss's operands.
type lossCall[T number] struct {
	e           *engine[T]
	name        string
	value, grad *tensor[T]
	args        []*tensor[T]
	agents, per int // values of one agent in the first arg
	scratch     customScratch
}

// Loss implements [nets.Engine]. The equations stand in regression.go and policy.go.
func (e *engine[T]) Loss(l nets.Loss, value, grad nets.Tensor, args ...nets.Tensor) {
	if e.failed() {
		return
	}
	if l == nil {
		e.fail("Loss", "no loss")
		return
	}
	c := &e.call
	if !c.take(e, l.LossName(), value, grad, args) {
		return
	}
	if e.debug {
		e.trace.add("Loss %s to %v and %v from %v", describe(l), c.value, c.grad, c.args)
	}
	if !c.fits(l) {
		return
	}
	if t := e.tiler; t != nil {
		t.loss(as32[*lossCall[float32]](c), l)
		return
	}
	c.compute(l)
}

// fits checks the args against what the loss wants, and the loss's constants.
func (c *lossCall[T]) fits(l nets.Loss) bool {
	switch l := l.(type) {
	case nets.SquaredError:
		return c.wants(whole, whole)
	case nets.Huber:
		return c.wants(whole, whole) && c.positive("delta", l.Delta, l.Delta > 0)
	case nets.Ascent, nets.Penalty:
		return c.wants(whole)
	case nets.PolicyGradient:
		return c.wants(whole, column, column, whole)
	case nets.ClippedSurrogate:
		return c.wants(whole, column, column, whole, column) && c.positive("clip", l.Clip, l.Clip >= 0)
	case nets.Custom:
		if l.Func == nil {
			c.e.fail("Loss", "%s has no function", c.name)
		}
		return l.Func != nil
	}
	c.e.fail("Loss", "%s (%T) is not computed by this engine, but a nets.Custom would be", c.name, l)
	return false
}

// compute takes operands that fit.
func (c *lossCall[T]) compute(l nets.Loss) {
	switch l := l.(type) {
	case nets.SquaredError:
		c.squaredError()
	case nets.Huber:
		c.huber(T(l.Delta))
	case nets.Ascent:
		c.ascent()
	case nets.Penalty:
		c.penalty(T(l.Coef))
	case nets.PolicyGradient:
		c.policy(policyLoss[T]{entropy: T(l.Entropy)})
	case nets.ClippedSurrogate:
		c.policy(policyLoss[T]{entropy: T(l.Entropy), clipped: true, clip: T(l.Clip)})
	case nets.Custom:
		c.custom(l)
	}
}

// take keeps the operands of a loss, if their kinds and the shapes of results fit.
func (c *lossCall[T]) take(e *engine[T], name string, value, grad nets.Tensor, args []nets.Tensor) bool {
	c.e, c.name, c.args = e, name, c.args[:0]
	for _, a := range args {
		x := e.take("Loss", "an arg", a)
		if x == nil {
			return false
		}
		c.args = append(c.args, x)
	}
	if len(args) == 0 {
		e.fail("Loss", "%s has no args, want at least 1", name)
		return false
	}
	if c.grad = e.alike("Loss", "the gradient", grad, c.args[0]); c.grad == nil {
		return false
	}
	if c.value = e.take("Loss", "the value", value); c.value == nil {
		return false
	}
	s := c.args[0].shape
	if len(s) == 0 || c.grad.n == 0 || !slices.Equal(c.value.shape, s[:1]) {
		e.fail("Loss", "%s: the value has shape %v and arg 0 %v, want [agents] and [agents, batch, …]", name, c.value.shape, s)
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
func (c *lossCall[T]) wants(shapes ...argShape) bool {
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
		if s == column && (len(first) != 3 || !c.args[i].isShape(first[0], first[1], 1)) {
			c.e.fail("Loss", "%s: arg %d has shape %v and arg 0 %v, want [agents batch 1] and [agents batch n]", c.name, i, got, first)
			return false
		}
	}
	return true
}

// positive reports a constant of the loss that is out of range.
func (c *lossCall[T]) positive(field string, value float64, ok bool) bool {
	if !ok {
		c.e.fail("Loss", "%s: %s is %g, want it positive", c.name, field, value)
	}
	return ok
}

// describe names a loss with its constants.
func describe(l nets.Loss) string {
	if c, ok := l.(nets.Custom); ok {
		return c.Name
	}
	return fmt.Sprintf("%s%+v", l.LossName(), l)
}
