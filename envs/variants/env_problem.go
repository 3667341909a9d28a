package variants

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// task is the problem of an episode with what is known of it: how its variants compare, and a plan that keeps its
// constraints.
type task struct {
	solver
	problem Problem
	// scale is the rate of time at which an application's prices and times range as widely, USD per second.
	scale float64
	// best are the combinations of variants with which the problem can be solved, the best one first; value is what the
	// relaxed problem gives with each (by combination; of those not in best nothing).
	best  []int
	value []relaxed
	// quick are those with the accuracy, that first which comes nearest to the constraint where all functions do their
	// utmost for it.
	quick  []int
	utmost []float64 // by combination
	plan   []int
	// start is the best plan of the relaxed problem; ideal what plans are measured by.
	start []int
	ideal Outcome
	none  []int32 // no decisions
}

// begin takes an application and a problem, which can be solved.
func (t *task) begin(n *menu, p Problem) {
	t.prepare(n)
	t.problem = p
	t.best, t.quick = t.best[:0], t.quick[:0]
	for c := range n.combinations {
		if n.scores[c] < float64(p.Accuracy*(1-slack)) {
			continue
		}
		t.quick = append(t.quick, c)
		t.fill(t.plan, t.none, n.combinations[c], t.extreme())
		if t.utmost[c] = t.evaluate(t.plan).Seconds; p.Objective == Time {
			t.utmost[c] = t.evaluate(t.plan).USD
		}
		t.value[c] = t.solve(&t.problem, t.plan, t.none, n.combinations[c], t.scale)
		if t.value[c].ok {
			t.best = append(t.best, c)
		}
	}
	slices.SortFunc(t.best, func(a, b int) int {
		switch {
		case p.Better(t.value[a].out, t.value[b].out):
			return -1
		case p.Better(t.value[b].out, t.value[a].out):
			return 1
		}
		return a - b
	})
	slices.SortStableFunc(t.quick, func(a, b int) int { return cmp.Compare(t.utmost[a], t.utmost[b]) })
	if len(t.best) > 0 {
		t.ideal = t.value[t.best[0]].out
		t.again(t.start, t.none, t.best[0])
	}
}

// extreme is the rate of time at which all functions do their utmost for the constraint.
func (t *task) extreme() float64 {
	if t.problem.Objective == Time {
		return 0
	}
	return fastest
}

// again writes the plan that the relaxed problem gives with a combination of variants.
func (t *task) again(plan []int, decided []int32, c int) relaxed {
	return t.solve(&t.problem, plan, decided, t.menu.combinations[c], t.scale)
}

// prepare sets what depends on the application alone.
func (t *task) prepare(n *menu) {
	t.solver.begin(n)
	t.plan, t.start = resized(t.plan, len(n.offers)), resized(t.start, len(n.offers))
	t.none = resized(t.none, len(n.offers))
	t.value, t.utmost = resized(t.value, len(n.combinations)), resized(t.utmost, len(n.combinations))
	times, prices := 0.0, 0.0
	for f := range n.offers {
		t.none[f] = -1
		t.share[f] = n.model.Runs[f]
		times += float64(n.model.Runs[f] * n.ranges[f].seconds)
		prices += n.ranges[f].usd
	}
	t.scale = max(prices, 1e-9) / max(times, 1e-9)
	for range shares {
		t.fill(t.plan, t.none, n.combinations[0], t.scale)
		t.learn(t.plan, 0.5)
	}
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// draw draws a problem that can be solved: the accuracy among the scores that there are, and the constraint between
// what the cheapest and the quickest plan with it need.
func (t *task) draw(n *menu, key rng.Key, objective Objective) Problem {
	t.prepare(n)
	c := key.With(1).IntN(len(n.combinations))
	p := Problem{Objective: objective}
	part := 0.05 + float64(0.9*key.With(2).Float64())
	if objective == Accuracy {
		// What a plan of this combination needs, and a little more.
		t.fill(t.plan, t.none, n.combinations[c], t.scale*math.Exp(6*(part-0.5)))
		out := t.evaluate(t.plan)
		p.Latency, p.Budget = out.Seconds*(1.02+float64(0.1*key.With(3).Float64())), out.USD*(1.02+float64(0.1*key.With(4).Float64()))
		return p
	}
	p.Accuracy = n.scores[c]
	cheap, quick, _ := t.extremes(n, p.Accuracy)
	if objective == Cost {
		p.Latency = quick.Seconds + float64(part*max(cheap.Seconds-quick.Seconds, 0))
	} else {
		p.Budget = cheap.USD + float64(part*max(quick.USD-cheap.USD, 0))
	}
	return p
}

// extremes returns the outcomes of the cheapest and the fastest plan with an accuracy, and the fastest one's combination.
func (t *task) extremes(n *menu, accuracy float64) (cheap, quick Outcome, at int) {
	cheap, quick = Outcome{USD: math.Inf(1)}, Outcome{Seconds: math.Inf(1)}
	for c, v := range n.combinations {
		if n.scores[c] < float64(accuracy*(1-slack)) {
			continue
		}
		t.fill(t.plan, t.none, v, 0)
		if o := t.evaluate(t.plan); o.USD < cheap.USD {
			cheap = o
		}
		t.fill(t.plan, t.none, v, fastest)
		if o := t.evaluate(t.plan); o.Seconds < quick.Seconds {
			quick, at = o, c
		}
	}
	return cheap, quick, at
}
