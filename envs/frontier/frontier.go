// Package frontier computes exact trade-offs between the response time of a workflow and its price, where every function
// has a list of options (a memory size, a variant, a parallelism), each with a mean run time and an expected price.
//
// [Exact] returns all configurations that no other one dominates; [Within] returns fewer, with a certified relative gap.
// A front answers every question about the two at once: the fastest under a budget, the cheapest under a latency. [Cheapest]
// and [Fastest] answer one such question, where edges cross in far less time than the front takes.
//
// The price of a configuration is a sum over functions. Its time is the workflow's response time, a term of sums and
// maxima (see [workflow.Part]). Where the term is a tree, fronts are combined from the leaves up: in a sum every point
// of one front meets every point of the other, in a maximum the cheapest that are done by each time meet, and dominated
// points are dropped at once. Elsewhere (edges that cross, branches below a fork, a function that runs on both sides of a
// fork) branch and bound lists the points: the time is convex and piecewise linear in the functions' times, so that its
// slopes give lower bounds that are sums over functions.
package frontier

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// Option is one way to run a function.
type Option struct {
	Seconds float64 // mean time of a run
	USD     float64 // expected price of a run
}

// Problem is a workflow whose functions have options.
type Problem struct {
	Flow    *workflow.Workflow
	Delays  workflow.Delays
	Options [][]Option // per function, at least one each
}

// Point is a configuration.
type Point struct {
	Seconds float64 // response time of a request, Flow.Response up to rounding
	USD     float64 // price of a request: the sum over functions of expected runs times the price of a run
	Choice  []int   // the option of each function
}

// Front is a list of configurations, times rising and prices falling.
type Front []Point

// Cheapest returns the cheapest point of a response time of at most so many seconds, and false if there is none.
func (f Front) Cheapest(seconds float64) (Point, bool) {
	lo, hi := 0, len(f)
	for lo < hi {
		if mid := (lo + hi) / 2; f[mid].Seconds <= seconds {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return Point{}, false
	}
	return f[lo-1], true
}

// Exact returns all configurations that no other one dominates: of those that are no slower and no dearer, one of equal
// time and price is kept. Numbers that differ by less than 1e-12 of their size count as equal. It fails if the
// problem is not well formed, if the workflow's response time has no parts ([workflow.Workflow.Parts]), and when the
// context is done: below a fork with branches, or where edges cross, the work can grow with the number of configurations.
func Exact(ctx context.Context, p Problem) (Front, error) { return solve(ctx, p, 0) }

func solve(ctx context.Context, p Problem, gap float64) (Front, error) {
	t, err := p.term()
	if err != nil {
		return nil, err
	}
	s := solver{ctx: ctx, problem: &p, trim: tie}
	if gap > 0 {
		s.trim = math.Pow(1+gap, 1/float64(t.depth())) - 1
	}
	st, err := s.front(t)
	if err != nil {
		return nil, err
	}
	return p.points(st), nil
}

// points writes a front's labels out.
func (p *Problem) points(st *stair) Front {
	functions := p.Flow.NumFunctions()
	out := make(Front, len(st.labels))
	choices := make([]int, len(out)*functions)
	for i, l := range st.labels {
		c := choices[i*functions:][:functions:functions]
		st.choose(c, i)
		out[i] = Point{l.t, l.c, c}
	}
	return out
}

// check says what of a problem is not well formed.
func (p *Problem) check() error {
	if p.Flow == nil {
		return fmt.Errorf("frontier: the problem has no workflow")
	}
	if len(p.Options) != p.Flow.NumFunctions() {
		return fmt.Errorf("frontier: there are options for %d functions, want %d", len(p.Options), p.Flow.NumFunctions())
	}
	for f, options := range p.Options {
		name := p.Flow.Functions()[f]
		if len(options) == 0 {
			return fmt.Errorf("frontier: function %q has no options, want at least one", name)
		}
		for i, o := range options {
			if !(o.Seconds >= 0) || math.IsInf(o.Seconds, 0) || !(o.USD >= 0) || math.IsInf(o.USD, 0) {
				return fmt.Errorf("frontier: option %d of function %q takes %v s and costs %v USD, want finite numbers of at "+
					"least 0", i, name, o.Seconds, o.USD)
			}
		}
	}
	return nil
}

// Within returns configurations such that every point of the exact front has one among them that is worse by at most a
// factor 1+gap in time and in price. It fails as [Exact] does, and if the gap is not above 0.
func Within(ctx context.Context, p Problem, gap float64) (Front, error) {
	if !(gap > 0 && gap <= 1) {
		return nil, fmt.Errorf("frontier: the gap is %v, want a number in (0, 1]", gap)
	}
	return solve(ctx, p, gap)
}

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

// term is the response time as a function of the functions' times: constant + weight·time of a function, or constant +
// the sum or maximum of terms, or an expectation over ways of longest paths through terms.
type term struct {
	kind     workflow.PartKind
	constant float64
	function int     // of a Single
	weight   float64 // of a Single
	terms    []*term
	ways     []workflow.PartWay
	uses     []int // functions in it, ascending, once each
}

// term returns the problem's response time. In its sums, the terms of one function are one term.
func (p *Problem) term() (*term, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	part, err := p.Flow.Parts(p.Delays)
	if err != nil {
		return nil, err
	}
	return p.convert(&part), nil
}

func (p *Problem) convert(part *workflow.Part) *term {
	t := &term{kind: part.Kind, constant: part.Delay, ways: part.Ways}
	if part.Kind == workflow.Single {
		t.function, t.weight = p.Flow.Function(part.Node), part.Runs
		t.uses = []int{t.function}
		return t
	}
	single := map[int]*term{}
	add := func(c *term) {
		if t.kind == workflow.Series && c.kind == workflow.Single {
			if first := single[c.function]; first != nil {
				first.weight += c.weight
				first.constant += c.constant
				return
			}
			single[c.function] = c
		}
		t.terms = append(t.terms, c)
	}
	for i := range part.Parts {
		c := p.convert(&part.Parts[i])
		if t.kind == workflow.Series && c.kind == workflow.Series {
			t.constant += c.constant
			for _, d := range c.terms {
				add(d)
			}
			continue
		}
		add(c)
	}
	return t.count()
}

// count fills in the functions that a term uses.
func (t *term) count() *term {
	t.uses = nil
	for _, c := range t.terms {
		t.uses = append(t.uses, c.uses...)
	}
	slices.Sort(t.uses)
	t.uses = slices.Compact(t.uses)
	return t
}

// groups returns the terms of a sum or maximum in groups, so that no function is in two of them.
func (t *term) groups() [][]*term {
	var groups [][]*term
	var uses []map[int]bool
	for _, c := range t.terms {
		group, with := []*term{c}, map[int]bool{}
		for _, f := range c.uses {
			with[f] = true
		}
		for i := 0; i < len(groups); {
			if !slices.ContainsFunc(c.uses, func(f int) bool { return uses[i][f] }) {
				i++
				continue
			}
			group = append(groups[i], group...)
			for f := range uses[i] {
				with[f] = true
			}
			groups, uses = slices.Delete(groups, i, i+1), slices.Delete(uses, i, i+1)
		}
		groups, uses = append(groups, group), append(uses, with)
	}
	return groups
}

// depth is how often fronts are thinned one after the other on the longest way from an option to the whole front.
func (t *term) depth() int {
	switch t.kind {
	case workflow.Single:
		return 1
	case workflow.Other:
		d := 1
		for _, c := range t.terms {
			d = max(d, c.depth())
		}
		return d + 1
	default:
		d := 0
		for _, c := range t.terms {
			d = max(d, c.depth())
		}
		return d + max(1, len(t.terms)-1)
	}
}

// places counts the Singles of each function.
func (t *term) places(n map[int]int) {
	if t.kind == workflow.Single {
		n[t.function]++
	}
	for _, c := range t.terms {
		c.places(n)
	}
}

// Tree reports whether the response time is made of sums and maxima alone with each function in one of them, so that fronts
// are combined and nothing is searched.
func (p *Problem) Tree() (bool, error) {
	t, err := p.term()
	return err == nil && t.apart(), err
}

// apart reports whether a term is a tree and no function is in two of its terms.
func (t *term) apart() bool {
	if t.kind == workflow.Single {
		return true
	}
	return t.kind != workflow.Other && len(t.groups()) == len(t.terms) &&
		!slices.ContainsFunc(t.terms, func(c *term) bool { return !c.apart() })
}
