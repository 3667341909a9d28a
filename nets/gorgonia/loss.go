package gorgonia

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// lossKey names a loss's graph: the loss with its constants, and the matrix that its first arg is.
type lossKey struct {
	loss       nets.Loss
	rows, cols int
}

// lossGraph is a loss as a graph. Each of the args is a leaf; the mean over samples is left to weights, a leaf
// that says what a value counts.
type lossGraph[T number] struct {
	graph    *graph[T]
	program  program[T]
	args     [][]T
	value    node // of each row, or of each number
	weights  []T
	gradient node // of Σ weights·value by the first arg
}

// lossCall is a loss's operands.
type lossCall[T number] struct {
	e           *engine[T]
	name        string
	value, grad *tensor[T]
	args        []*tensor[T]
	agents, per int // values of one agent in the first arg
}

// Loss implements [nets.Engine].
func (e *engine[T]) Loss(l nets.Loss, value, grad nets.Tensor, args ...nets.Tensor) {
	if e.failed() {
		return
	}
	if l == nil {
		e.fail("Loss", "no loss")
		return
	}
	c := lossCall[T]{e: e, name: l.LossName()}
	if !c.take(value, grad, args) {
		return
	}
	switch l := l.(type) {
	case nets.SquaredError:
		if c.wants(whole, whole) {
			c.regression(l, func(b *graph[T], x []node) node {
				d := b.sub(x[0], x[1])
				return b.times(d, d)
			})
		}
	case nets.Huber:
		if c.wants(whole, whole) && c.inRange("delta", l.Delta, l.Delta > 0) {
			c.regression(l, func(b *graph[T], x []node) node { return huber(b, b.sub(x[0], x[1]), l.Delta) })
		}
	case nets.Ascent:
		if c.wants(whole) {
			c.regression(l, func(b *graph[T], x []node) node { return b.neg(x[0]) })
		}
	case nets.Penalty:
		if c.wants(whole) {
			c.regression(l, func(b *graph[T], x []node) node { return b.scaled(b.times(x[0], x[0]), l.Coef) })
		}
	case nets.PolicyGradient:
		if c.wants(whole, column, column, whole) {
			c.policy(l, policyLoss{entropy: l.Entropy})
		}
	case nets.ClippedSurrogate:
		if c.wants(whole, column, column, whole, column) && c.inRange("clip", l.Clip, l.Clip >= 0) {
			c.policy(l, policyLoss{entropy: l.Entropy, clipped: true, clip: l.Clip})
		}
	case nets.Custom:
		c.custom(l)
	default:
		e.fail("Loss", "%s (%T) is not computed by this engine, but a nets.Custom would be", c.name, l)
	}
}

// huber is c(|d| − ½c) with c the smaller of |d| and delta: ½d², or delta(|d| − ½delta).
func huber[T number](b *graph[T], d node, delta float64) node {
	a := b.abs(d)
	beyond := b.above(a, delta)
	c := b.add(b.times(b.not(beyond), a), b.scaled(beyond, delta))
	return b.times(c, b.sub(a, b.scaled(c, 0.5)))
}

// regression computes a loss that is a mean over the agent's numbers of f, itself a number for each.
func (c *lossCall[T]) regression(l nets.Loss, f func(b *graph[T], x []node) node) {
	cols := slices.Repeat([]int{c.per}, len(c.args))
	g := c.graph(l, c.agents, cols, f)
	if g == nil {
		return
	}
	for i, a := range c.args {
		copy(g.args[i], a.data)
	}
	for i := range g.weights {
		g.weights[i] = 1 / T(c.per)
	}
	c.finish(g, c.per)
}

// graph returns the loss's graph, made on first use: f computes the value from args of rows × cols each.
func (c *lossCall[T]) graph(l nets.Loss, rows int, cols []int, f func(b *graph[T], x []node) node) *lossGraph[T] {
	key := lossKey{l, rows, cols[0]}
	if g, ok := c.e.losses[key]; ok {
		return g
	}
	g := &lossGraph[T]{graph: newGraph[T](c.e.format)}
	if err := g.build(rows, cols, f); err != nil {
		c.e.fail("Loss", "%s: %w", c.name, err)
		return nil
	}
	c.e.losses[key] = g
	return g
}

func (g *lossGraph[T]) build(rows int, cols []int, f func(b *graph[T], x []node) node) (err error) {
	defer rescue(&err)
	var x []node
	for _, n := range cols {
		data := make([]T, rows*n)
		g.args, x = append(g.args, data), append(x, g.graph.leaf(rows, n, data))
	}
	if g.value = f(g.graph, x); g.graph.err != nil {
		return g.graph.err
	}
	shape := g.value.Shape()
	g.weights = make([]T, shape[0]*shape[1])
	weights := g.graph.leaf(shape[0], shape[1], g.weights)
	grads, err := g.graph.gradients([]node{g.value}, []node{weights}, x[:1])
	if err != nil {
		return err
	}
	g.gradient = grads[0]
	return g.program.compile(g.graph, []node{g.value, g.gradient}, forwards, 0)
}

// finish runs the graph and writes value and gradient. An agent has n of the graph's values.
func (c *lossCall[T]) finish(g *lossGraph[T], n int) {
	if err := g.program.run(forwards); err != nil {
		c.e.fail("Loss", "%s: %w", c.name, err)
		return
	}
	values := g.program.numbers(g.value)
	for i := range c.agents {
		sum := 0.0
		for j := i * n; j < (i+1)*n; j++ {
			if g.weights[j] != 0 {
				sum += float64(g.weights[j]) * float64(values[j])
			}
		}
		c.value.data[i] = T(sum)
	}
	c.value.version++
	c.grad.version++
	copy(c.grad.data, g.program.numbers(g.gradient))
}

// take keeps the operands of a loss, if their kinds and the shapes of results fit.
func (c *lossCall[T]) take(value, grad nets.Tensor, args []nets.Tensor) bool {
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
	if len(s) == 0 || len(c.grad.data) == 0 || !slices.Equal(c.value.shape, s[:1]) {
		c.e.fail("Loss", "%s: the value has shape %v and arg 0 %v, want [agents] and [agents, batch, …]", c.name,
			c.value.shape, s)
		return false
	}
	c.agents, c.per = s[0], len(c.grad.data)/s[0]
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
		if s == column && (len(first) != 3 || !slices.Equal(got, []int{first[0], first[1], 1})) {
			c.e.fail("Loss", "%s: arg %d has shape %v and arg 0 %v, want [agents batch 1] and [agents batch n]",
				c.name, i, got, first)
			return false
		}
	}
	return true
}

// inRange reports a constant of the loss that is out of range.
func (c *lossCall[T]) inRange(field string, value float64, ok bool) bool {
	if !ok {
		c.e.fail("Loss", "%s: %s is %g, want it positive", c.name, field, value)
	}
	return ok
}

// custom runs a user's loss: args in, value and gradient, both zeroed, out.
func (c *lossCall[T]) custom(l nets.Custom) {
	if l.Func == nil {
		c.e.fail("Loss", "%s has no function", c.name)
		return
	}
	value, grad := make([]float64, c.agents), make([]float64, len(c.grad.data))
	args, shapes := make([][]float64, len(c.args)), make([][]int, len(c.args))
	for i, a := range c.args {
		args[i], shapes[i] = make([]float64, len(a.data)), a.shape
		convert(args[i], a.data)
	}
	l.Func(value, grad, args, shapes)
	c.value.Set64(value)
	c.grad.Set64(grad)
}
