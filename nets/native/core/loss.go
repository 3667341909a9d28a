package core

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// LossCall is a loss with its operands, checked.
type LossCall[X Tensor] struct {
	State       *State
	Law         nets.Loss
	Value, Grad X // [agents]; the shape of the first arg
	Args        []X
	Agents, Per int // values of one agent in the first arg
	shapes      [][]int
}

// Loss implements [nets.Engine].
func (e *Engine[X]) Loss(l nets.Loss, value, grad nets.Tensor, args ...nets.Tensor) {
	if e.Failed() {
		return
	}
	if l == nil {
		e.Fail("Loss", "no loss")
		return
	}
	c := &e.loss
	if !c.take(e, value, grad, args) {
		return
	}
	if err := nets.CheckLoss(l, c.Value.Shape(), c.shapes); err != nil {
		e.Fail("Loss", "%w", err)
		return
	}
	c.State, c.Law, c.Agents = e.State, l, c.shapes[0][0]
	c.Per = c.Grad.Len() / c.Agents
	if e.debug {
		e.trace.add("Loss %s to %v and %v from %v", describe(l), c.Value, c.Grad, c.Args)
	}
	e.back.Loss(c)
}

// take stores the operands of a loss, if they are this engine's tensors.
func (c *LossCall[X]) take(e *Engine[X], value, grad nets.Tensor, args []nets.Tensor) (ok bool) {
	c.Args, c.shapes = c.Args[:0], c.shapes[:0]
	for _, a := range args {
		x, ok := e.take("Loss", "an arg", a)
		if !ok {
			return false
		}
		c.Args, c.shapes = append(c.Args, x), append(c.shapes, x.Shape())
	}
	if c.Value, ok = e.take("Loss", "the value", value); !ok || len(args) == 0 {
		return ok
	}
	c.Grad, ok = e.alike("Loss", "the gradient", grad, c.Args[0])
	return ok
}

// Unknown stores the failure of a loss that the backend doesn't compute.
func (c *LossCall[X]) Unknown() {
	c.State.Fail("Loss", "%s (%T) is not computed by this engine, but a nets.Custom would be", c.Law.LossName(), c.Law)
}

// describe names a loss with its constants.
func describe(l nets.Loss) string {
	if c, ok := l.(nets.Custom); ok {
		return c.Name
	}
	return fmt.Sprintf("%s%+v", l.LossName(), l)
}
