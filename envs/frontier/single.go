package frontier

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// Answer is the best configuration within a bound.
type Answer struct {
	Point
	// Bound is what no configuration within the bound is below: USD a request for [Cheapest], seconds for [Fastest]. It is the
	// point's own where the search came to its end.
	Bound float64
	// Exact says that the search came to its end: the point is the optimum.
	Exact bool
	// Nodes is the number of sets of configurations that the search looked into.
	Nodes int
}

// ErrNone says that no configuration keeps a bound.
var ErrNone = errors.New("frontier: no configuration keeps the bound")

// Cheapest returns the cheapest configuration of a response time of at most so many seconds, by branch and bound. The answer
// is as exact as that of [Exact], but the other points are not needed: where edges cross that is far less work. When
// the context is done, the answer is the best configuration found so far, and Bound says how far it can be from the
// optimum. The error is [ErrNone] where no configuration is fast enough.
func Cheapest(ctx context.Context, p Problem, seconds float64) (Answer, error) {
	return p.single(ctx, goal{seconds: seconds * (1 + tie), usd: math.Inf(1), cost: true})
}

// Fastest returns the fastest configuration of a price of at most so many USD a request, as [Cheapest] does.
func Fastest(ctx context.Context, p Problem, usd float64) (Answer, error) {
	return p.single(ctx, goal{seconds: math.Inf(1), usd: usd * (1 + tie)})
}

// goal bounds the search: configurations of at most so many seconds and USD. One number is the bound of the question,
// the other comes from the best configuration found so far.
type goal struct {
	seconds, usd float64
	cost         bool // the price is to be least, else the time
}

// value returns what is to be least.
func (g *goal) value(seconds, usd float64) float64 {
	if g.cost {
		return usd
	}
	return seconds
}

// bound returns what the objective is at least, where rate·seconds + USD is at least v.
func (g *goal) bound(v, rate float64) float64 {
	if g.cost {
		return v - float64(rate*g.seconds)
	}
	return (v - g.usd) / rate
}

// maxJoined is the most configurations of a part that becomes one variable.
const maxJoined = 1 << 12

func (p *Problem) single(ctx context.Context, g goal) (Answer, error) {
	t, err := p.term()
	if err != nil {
		return Answer{}, err
	}
	s := &solver{ctx: context.WithoutCancel(ctx), problem: p, trim: tie}
	c, err := s.newCore(t, func(t *term) bool {
		n := 1.0
		for _, f := range t.uses {
			n *= float64(len(p.Options[f]))
		}
		return n <= maxJoined && t.tree()
	})
	if err != nil {
		return Answer{}, err
	}
	b := newBoxes(c, g)
	bound, err := b.run(ctx)
	if err != nil {
		return Answer{}, err
	}
	found := &stair{function: -1, vars: c.vars, rows: [][]int32{b.best}, labels: []label{{t: b.bestSeconds, c: b.bestUSD}}}
	out := Answer{Point: p.points(found)[0], Bound: bound, Nodes: b.nodes}
	if own := g.value(out.Seconds, out.USD); bound >= own*(1-1e-9) {
		out.Bound, out.Exact = own, true
	}
	return out, nil
}

// tree reports whether a term is made of sums and maxima alone.
func (t *term) tree() bool {
	return t.kind != workflow.Other && !slices.ContainsFunc(t.terms, func(c *term) bool { return !c.tree() })
}
