package steps

import (
	"context"
	"math"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/steps"
)

// plans knows the cheapest plans of a whole workflow. Where its paths cross, a front of all of them takes too long:
// single plans are searched for instead, exactly.
type plans struct {
	menus   []menu
	problem frontier.Problem
	front   frontier.Front // nil where paths cross
}

// menusAt returns the menu of each step, with times at a quantile.
func menusAt(m *steps.Model, quantile float64) []menu {
	out := make([]menu, m.NumSteps())
	for v := range out {
		out[v] = newMenu(m, v, Parallelism{}, quantile)
	}
	return out
}

// newPlans returns the plans of menus. Every plan of its front is within a gap of the exact front.
func newPlans(m *steps.Model, menus []menu, gap float64) *plans {
	p := &plans{menus: menus, problem: frontier.Problem{Flow: m.Flow, Options: make([][]frontier.Option, len(menus))}}
	for v, l := range menus {
		for _, o := range l {
			p.problem.Options[v] = append(p.problem.Options[v], frontier.Option{Seconds: o.seconds, USD: o.option.USD})
		}
	}
	// The problem is well formed, so that nothing but the context could fail.
	if tree, err := p.problem.Tree(); err == nil && tree {
		p.front, _ = frontier.Within(context.Background(), p.problem, gap)
	}
	return p
}

// cheapest returns the cheapest plan of which every path ends within so many seconds, and false where there is none.
func (p *plans) cheapest(seconds float64) (frontier.Point, bool) {
	if p.front != nil {
		return p.front.Cheapest(seconds)
	}
	a, err := frontier.Cheapest(context.Background(), p.problem, seconds)
	return a.Point, err == nil
}

// crossing is how many limits plans are searched for where paths cross.
const crossing = 64

// some returns plans from the fastest to the cheapest one: the front, or that at some limits, denser towards the fastest.
func (p *plans) some(g graph) frontier.Front {
	if p.front != nil {
		return p.front
	}
	fast, slow := make([]float64, len(p.menus)), make([]float64, len(p.menus))
	for v, l := range p.menus {
		fast[v], slow[v] = l[0].seconds, l[len(l)-1].seconds
	}
	after := make([]float64, len(p.menus))
	first, last := g.after(after, fast), g.after(after, slow)
	var out frontier.Front
	for k := range crossing + 1 {
		part := float64(k) / crossing
		limit := first * math.Pow(last/first, part*part)
		x, ok := p.cheapest(limit * (1 + 1e-12))
		if n := len(out); ok && (n == 0 || x.USD < out[n-1].USD) {
			out = append(out, x)
		}
	}
	return out
}
