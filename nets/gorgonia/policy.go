package gorgonia

import (
	"github.com/stoker-rl/stoker/nets"
	lib "gorgonia.org/gorgonia"
)

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
	batch, n := c.args[0].shape[1], c.args[0].shape[2]
	rows := c.agents * batch
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
	copy(g.args[2], c.args[2].data)
	if p.clipped {
		copy(g.args[4], c.args[4].data)
	}
	c.finish(g, batch)
}

// row sets a sample's logits, choice and mask in the graph, and its weight in the mean. A sample without a legal
// choice has weight 0.
func (c *lossCall[T]) row(g *lossGraph[T], row, n int, weight T) bool {
	logits, choice, mask := g.args[0][row*n:][:n], g.args[1][row*n:][:n], g.args[3][row*n:][:n]
	z, legal := c.args[0].data[row*n:][:n], c.args[3].data[row*n:][:n]
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
	given := c.args[1].data[row]
	a := int(given)
	if a < 0 || a >= n || T(a) != given || legal[a] == 0 {
		batch := c.args[0].shape[1]
		c.e.fail("Loss", "%s: the choice of agent %d in sample %d is %v, want the number of a legal one below %d",
			c.name, row/batch, row%batch, given, n)
		return false
	}
	choice[a] = 1
	return true
}

// policyValue is the samples' values [rows, 1] from logits, one-hot choices, advantages, mask and ℓ_old.
func policyValue[T number](p policyLoss, b *graph[T], x []node, n int) node {
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
