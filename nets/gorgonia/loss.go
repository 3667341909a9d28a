package gorgonia

import (
	"slices"

	lib "gorgonia.org/gorgonia"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// lossKey identifies a loss's graph: the loss with its constants, and the size of its first arg as a matrix.
type lossKey struct {
	loss       nets.Loss
	rows, cols int
}

// lossGraph is a loss as a graph. Each arg is a leaf. The leaf weights holds the weight of each value in the mean
// over samples.
type lossGraph[T core.Number] struct {
	graph    *graph[T]
	program  program[T]
	args     [][]T
	value    node // of each row, or of each element
	weights  []T
	gradient node // of Σ weights·value by the first arg
}

// lossCall is a loss with its operands.
type lossCall[T core.Number] struct {
	*core.LossCall[*tensor[T]]
	b    *backend[T]
	name string
}

// Loss implements [core.Backend].
func (b *backend[T]) Loss(call *core.LossCall[*tensor[T]]) {
	c := lossCall[T]{call, b, call.Law.LossName()}
	switch l := c.Law.(type) {
	case nets.SquaredError:
		c.regression(l, func(b *graph[T], x []node) node {
			d := b.sub(x[0], x[1])
			return b.times(d, d)
		})
	case nets.Huber:
		c.regression(l, func(b *graph[T], x []node) node { return huber(b, b.sub(x[0], x[1]), l.Delta) })
	case nets.Ascent:
		c.regression(l, func(b *graph[T], x []node) node { return b.neg(x[0]) })
	case nets.Penalty:
		c.regression(l, func(b *graph[T], x []node) node { return b.scaled(b.times(x[0], x[0]), l.Coef) })
	case nets.Temperature:
		c.regression(l, func(b *graph[T], x []node) node { return b.neg(b.times(x[0], b.plus(x[1], l.Target))) })
	case nets.PolicyGradient:
		c.policy(l, policyLoss{entropy: l.Entropy})
	case nets.ClippedSurrogate:
		c.policy(l, policyLoss{entropy: l.Entropy, clipped: true, clip: l.Clip})
	case nets.Custom:
		c.Custom(l)
	default:
		c.Unknown()
	}
}

// huber is c(|d| − ½c) with c the smaller of |d| and delta: ½d², or delta(|d| − ½delta).
func huber[T core.Number](b *graph[T], d node, delta float64) node {
	a := b.abs(d)
	beyond := b.above(a, delta)
	c := b.add(b.times(b.not(beyond), a), b.scaled(beyond, delta))
	return b.times(c, b.sub(a, b.scaled(c, 0.5)))
}

// regression computes a loss that is the mean over an agent's elements of f, which is elementwise.
func (c *lossCall[T]) regression(l nets.Loss, f func(b *graph[T], x []node) node) {
	cols := slices.Repeat([]int{c.Per}, len(c.Args))
	g := c.graph(l, c.Agents, cols, f)
	if g == nil {
		return
	}
	for i, a := range c.Args {
		copy(g.args[i], a.Data)
	}
	for i := range g.weights {
		g.weights[i] = 1 / T(c.Per)
	}
	c.finish(g, c.Per)
}

// graph returns the loss's graph, built on first use: f computes the value from args of rows × cols each.
func (c *lossCall[T]) graph(l nets.Loss, rows int, cols []int, f func(b *graph[T], x []node) node) *lossGraph[T] {
	key := lossKey{l, rows, cols[0]}
	if g, ok := c.b.losses[key]; ok {
		return g
	}
	g := &lossGraph[T]{graph: newGraph[T](c.b.format)}
	if err := g.build(rows, cols, f); err != nil {
		c.State.Fail("Loss", "%s: %w", c.name, err)
		return nil
	}
	c.b.losses[key] = g
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

// finish runs the graph and writes value and gradient. Each agent has n of the graph's values.
func (c *lossCall[T]) finish(g *lossGraph[T], n int) {
	if err := g.program.run(forwards); err != nil {
		c.State.Fail("Loss", "%s: %w", c.name, err)
		return
	}
	values := g.program.numbers(g.value)
	for i := range c.Agents {
		sum := 0.0
		for j := i * n; j < (i+1)*n; j++ {
			if g.weights[j] != 0 {
				sum += float64(g.weights[j]) * float64(values[j])
			}
		}
		c.Value.Data[i] = T(sum)
	}
	c.Value.Version++
	c.Grad.Version++
	copy(c.Grad.Data, g.program.numbers(g.gradient))
}

// policyLoss is the policy gradient (Williams, 1992) or, clipped, the surrogate of Schulman et al. (2017). With
// π the softmax of the logits over the legal choices, ℓ = ln π(a) and H = −Σ π ln π, a sample's value is
//
//	plain:    −Aℓ − entropy·H
//	clipped:  −min(rA, clip(r, 1−c, 1+c)A) − entropy·H,  r = e^(ℓ−ℓ_old)
type policyLoss struct {
	entropy float64
	clipped bool
	clip    float64
}

// policy computes the loss from logits, choices, advantages, mask and, where clipped, ℓ_old. Before the graph runs,
// each choice is converted to a one-hot row, the largest legal logit is subtracted from the legal logits, and illegal
// logits are set to 0. This changes no gradient, because π depends only on differences of legal logits.
func (c *lossCall[T]) policy(l nets.Loss, p policyLoss) {
	batch, n := c.Args[0].Shape()[1], c.Args[0].Width()
	rows := c.Agents * batch
	cols := []int{n, n, 1, n}
	if p.clipped {
		cols = append(cols, 1)
	}
	g := c.graph(l, rows, cols, func(b *graph[T], x []node) node { return policyValue(p, b, x, n) })
	if g == nil {
		return
	}
	for row := range rows {
		if !c.row(g, row, n, 1/T(batch)) {
			return
		}
	}
	copy(g.args[2], c.Args[2].Data)
	if p.clipped {
		copy(g.args[4], c.Args[4].Data)
	}
	c.finish(g, batch)
}

// row sets a sample's logits, choice and mask in the graph, and its weight in the mean. A sample without a legal
// choice has weight 0.
func (c *lossCall[T]) row(g *lossGraph[T], row, n int, weight T) bool {
	logits, choice, mask := g.args[0][row*n:][:n], g.args[1][row*n:][:n], g.args[3][row*n:][:n]
	z, legal := c.Args[0].Data[row*n:][:n], c.Args[3].Data[row*n:][:n]
	clear(logits)
	clear(choice)
	clear(mask)
	best := -1
	for k, v := range z {
		if legal[k] != 0 && (best < 0 || v > z[best]) {
			best = k
		}
	}
	if best < 0 {
		g.weights[row] = 0
		mask[0] = 1
		return true
	}
	g.weights[row] = weight
	for k, v := range z {
		if legal[k] != 0 {
			logits[k], mask[k] = v-z[best], 1
		}
	}
	given := c.Args[1].Data[row]
	a := int(given)
	if a < 0 || a >= n || T(a) != given || legal[a] == 0 {
		batch := c.Args[0].Shape()[1]
		c.State.Fail("Loss", "%s: the choice of agent %d in sample %d is %v, want the number of a legal one below %d",
			c.name, row/batch, row%batch, given, n)
		return false
	}
	choice[a] = 1
	return true
}

// policyValue is the samples' values [rows, 1] from logits, one-hot choices, advantages, mask and ℓ_old.
func policyValue[T core.Number](p policyLoss, b *graph[T], x []node, n int) node {
	z, choice, advantage, mask := x[0], x[1], x[2], x[3]
	logs := b.sub(z, b.log(b.total(b.times(b.exp(z), mask), n, n)))
	logp := b.total(b.times(logs, choice), n, 1)
	gain := b.times(advantage, logp)
	if p.clipped {
		r := b.exp(b.sub(logp, x[4]))
		low, high := b.below(r, 1-p.clip), b.above(r, 1+p.clip)
		held := b.add(b.times(b.not(b.add(low, high)), r), b.add(b.scaled(low, 1-p.clip), b.scaled(high, 1+p.clip)))
		free := b.times(r, advantage)
		held = b.times(held, advantage)
		least := b.compare(lib.Lt, held, free)
		gain = b.add(b.times(b.not(least), free), b.times(least, held))
	}
	pi := b.times(b.exp(logs), mask)
	plogp := b.total(b.times(pi, logs), n, 1)
	return b.sub(b.scaled(plogp, p.entropy), gain)
}
