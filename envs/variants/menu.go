package variants

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/rng"
)

// menu is what an agent can choose from in one application: its model's options without the dominated ones.
type menu struct {
	model   *Model
	service *service // nil where plans are judged by the model
	scratch *Scratch
	// offers are per function what it can be, by variant, then memory. spans has for each function and variant its first
	// offer and the one behind its last.
	offers [][]offer
	spans  [][][2]int
	// rated are the functions with several variants left; combinations are all choices of their variants, the last
	// function's varying fastest, [combination][function of rated], and scores their accuracy scores.
	rated        []int
	combinations [][]int
	scores       []float64
	// left is the number of variants left of each function, ranges how far its times and prices range, next the functions
	// whose work comes right after its own.
	left   []int
	ranges []offer
	next   [][]int
	// order is the order in which functions are decided: those with several variants first, then those whose price
	// depends most on the choice.
	order []int
}

// offer is an option of a function that no other one dominates.
type offer struct {
	// option is its index among the model's options.
	option, variant int
	// seconds is the mean time of a run; usd is what a million executions of the application pay for its runs.
	seconds, usd float64
}

// maxCombinations bounds the combinations of variants of an application that agents are to configure.
const maxCombinations = 1024

// newMenu leaves out dominated options: a rule that is monotone in time, price and accuracy loses nothing.
func newMenu(m *Model, most int) (*menu, error) {
	n := &menu{model: m, scratch: m.NewScratch(), next: m.Flow.Next()}
	for f := range m.Options {
		n.offers = append(n.offers, undominated(m, f))
		if k := len(n.offers[f]); k > most {
			return nil, fmt.Errorf("function %q has %d options that no other one dominates, and env.options is %d: "+
				"want at least %d", m.Flow.Functions()[f], k, most, k)
		}
		spans := make([][2]int, m.NumVariants(f))
		left := 0
		for i, o := range n.offers[f] {
			if spans[o.variant][1] == 0 {
				spans[o.variant][0] = i
				left++
			}
			spans[o.variant][1] = i + 1
		}
		n.spans = append(n.spans, spans)
		n.left = append(n.left, left)
		n.ranges = append(n.ranges, rangeOf(n.offers[f]))
		if left > 1 {
			n.rated = append(n.rated, f)
		}
		n.order = append(n.order, f)
	}
	if err := n.combine(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(n.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(n.left[b], n.left[a]), cmp.Compare(n.ranges[b].usd, n.ranges[a].usd))
	})
	return n, nil
}

// worth reports why there is nothing to learn from problems with an objective (mixed is all of them).
func (n *menu) worth(objective Objective) error {
	choice, options := make([]int, len(n.offers)), 0
	for f := range choice {
		choice[f] = n.offers[f][0].option
		options = max(options, len(n.offers[f]))
	}
	out := n.model.Evaluate(choice)
	switch {
	case options == 1:
		return bounds.Errorf("functions", "have one option each that no other one dominates: there is nothing to choose")
	case out.Seconds <= 0 || out.USD <= 0:
		return bounds.Errorf("functions", "take %g s and cost %g USD a million executions, want more than 0", out.Seconds, out.USD)
	case objective == Accuracy && !n.model.rated():
		return bounds.Errorf("functions", "have one accuracy score only, and objective is accuracy")
	}
	return nil
}

// rated reports whether there is more than one accuracy score.
func (m *Model) rated() bool {
	low, high := m.AccuracyRange()
	return high > low
}

// rangeOf returns by how much the times and the prices of offers differ at most.
func rangeOf(offers []offer) offer {
	low, high := offers[0], offers[0]
	for _, o := range offers {
		low.seconds, high.seconds = min(low.seconds, o.seconds), max(high.seconds, o.seconds)
		low.usd, high.usd = min(low.usd, o.usd), max(high.usd, o.usd)
	}
	return offer{seconds: high.seconds - low.seconds, usd: high.usd - low.usd}
}

// undominated returns the options of function f for which no other one takes no more time, costs no more, and is of a
// variant that is as accurate. Of equal ones the first stays.
func undominated(m *Model, f int) []offer {
	accuracy := func(o Option) float64 { return m.Variants[f][o.Variant].Accuracy }
	var out []offer
	for i, o := range m.Options[f] {
		beaten := false
		for j, p := range m.Options[f] {
			if p.Seconds <= o.Seconds && p.USD <= o.USD && accuracy(p) >= accuracy(o) &&
				(j < i || p.Seconds < o.Seconds || p.USD < o.USD || accuracy(p) > accuracy(o)) {
				beaten = true
				break
			}
		}
		if !beaten {
			out = append(out, offer{i, o.Variant, o.Seconds, Executions * float64(m.Runs[f]*o.USD)})
		}
	}
	return out
}

// offer returns the offer that is an option of function f, or the first that dominates it.
func (n *menu) offer(f, option int) int {
	m := n.model
	accuracy := func(i int) float64 { return m.Variants[f][m.Options[f][i].Variant].Accuracy }
	o := m.Options[f][option]
	dominates := -1
	for i, x := range n.offers[f] {
		if x.option == option {
			return i
		}
		p := m.Options[f][x.option]
		if dominates < 0 && p.Seconds <= o.Seconds && p.USD <= o.USD && accuracy(x.option) >= accuracy(option) {
			dominates = i
		}
	}
	return dominates
}

// combine lists the combinations of variants and their scores.
func (n *menu) combine() error {
	total := 1
	for _, f := range n.rated {
		if total *= n.left[f]; total > maxCombinations {
			return fmt.Errorf("its functions have more than %d combinations of variants", maxCombinations)
		}
	}
	variants := make([]int, len(n.offers))
	for f := range variants {
		variants[f] = n.offers[f][0].variant
	}
	var walk func(k int)
	walk = func(k int) {
		if k == len(n.rated) {
			c := make([]int, k)
			for i, f := range n.rated {
				c[i] = variants[f]
			}
			n.combinations = append(n.combinations, c)
			n.scores = append(n.scores, n.model.Accuracy(variants))
			return
		}
		f := n.rated[k]
		for v, s := range n.spans[f] {
			if s[1] > s[0] {
				variants[f] = v
				walk(k + 1)
			}
		}
	}
	walk(0)
	return nil
}

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
	t.plan, t.start = reuse.Slice(t.plan, len(n.offers)), reuse.Slice(t.start, len(n.offers))
	t.none = reuse.Slice(t.none, len(n.offers))
	t.value, t.utmost = reuse.Slice(t.value, len(n.combinations)), reuse.Slice(t.utmost, len(n.combinations))
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

// ideal returns the outcome that an episode's plans are measured by.
func (s *shelf) ideal(t *task) (Outcome, error) {
	if s.config.Ideal != Best || s.blind {
		return t.ideal, nil
	}
	return ideals.Get(question{t.menu.model, t.problem}, func(q question) (Outcome, error) {
		plan, err := q.model.Solve(context.Background(), q.problem)
		if err != nil {
			return Outcome{}, fmt.Errorf("the exact plan of %s, %v: %w", q.model.App.Name, q.problem, err)
		}
		return plan.Outcome, nil
	})
}

// Measure says whether steps report how far plans are from the ideal, which can take seconds an episode. Without it they
// are measured by the relaxed problem's plan. What is seen and rewarded does not depend on it.
func (e *Each) Measure(on bool) { e.shelf.blind = !on }

// Measure is as that of [Each].
func (e *Env) Measure(on bool) { e.shelf.blind = !on }
