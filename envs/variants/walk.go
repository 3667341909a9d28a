package variants

import (
	"math"

	"github.com/stoker-rl/stoker/internal/reuse"
)

// solver finds plans of relaxed problems: time has a rate in USD per second, one for the whole application, and each
// function takes the offer with the least price plus rate times its share of the response time. It keeps its memory
// and is used by one goroutine.
type solver struct {
	menu   *menu
	choice []int // options of the model
	// share is by how many seconds the response time grows for each second that a run of the function takes.
	share []float64
}

// relaxed is a plan of a relaxed problem.
type relaxed struct {
	rate float64
	out  Outcome
	ok   bool // it keeps the constraints
}

// Bounds of rates, relative to the application's own, and how often the interval between them is halved.
const (
	widest  = 1e4
	halving = 12
	// shares is how often the shares of the response time are computed anew, each time at the plan that they gave.
	shares = 4
)

func (s *solver) begin(n *menu) {
	s.menu = n
	s.choice, s.share = reuse.Slice(s.choice, len(n.offers)), reuse.Slice(s.share, len(n.offers))
}

// evaluate returns the outcome of a plan of offers.
func (s *solver) evaluate(plan []int) Outcome {
	for f, i := range plan {
		s.choice[f] = s.menu.offers[f][i].option
	}
	return s.menu.model.EvaluateWith(s.menu.scratch, s.choice)
}

// learn moves the shares towards what they are at a plan: weight 1 replaces them.
func (s *solver) learn(plan []int, weight float64) {
	base := s.evaluate(plan).Seconds
	m := s.menu.model
	for f := range plan {
		step := float64(max(m.Options[f][s.choice[f]].Seconds, 1e-6) * 0.05)
		for i := range s.menu.scratch.times {
			if m.Flow.Function(i) == f {
				s.menu.scratch.times[i] += step
			}
		}
		slope := (m.Flow.Response(s.menu.scratch.times, m.Delays) - base) / step
		for i := range s.menu.scratch.times {
			if m.Flow.Function(i) == f {
				s.menu.scratch.times[i] = m.Options[f][s.choice[f]].Seconds
			}
		}
		s.share[f] += float64(weight * (slope - s.share[f]))
	}
}

// fill writes the offers that a rate of time gives to the functions that are not decided (decided[f] < 0). variants are
// those of the rated functions.
func (s *solver) fill(plan []int, decided []int32, variants []int, rate float64) {
	k := 0
	for f, offers := range s.menu.offers {
		from, to := 0, len(offers)
		if k < len(s.menu.rated) && s.menu.rated[k] == f {
			span := s.menu.spans[f][variants[k]]
			from, to = span[0], span[1]
			k++
		}
		if decided[f] >= 0 {
			plan[f] = int(decided[f])
			continue
		}
		best, least := from, math.Inf(1)
		for i := from; i < to; i++ {
			o := &offers[i]
			cost := o.usd + float64(rate*s.share[f]*o.seconds)
			if rate < 0 { // as fast as can be
				cost = o.seconds
			}
			if cost < least {
				best, least = i, cost
			}
		}
		plan[f] = best
	}
}

// fastest is the rate at which nothing but time counts.
const fastest = -1

// solve finds the plan that a rate of time gives: the cheapest that keeps the latency or, where time is the objective,
// the quickest within the budget. plan receives it.
func (s *solver) solve(p *Problem, plan []int, decided []int32, variants []int, scale float64) relaxed {
	low, high := math.Log(scale/widest), math.Log(scale*widest)
	keeps := func(o Outcome) bool { return within(o.Seconds, p.Latency) }
	if p.Objective == Time {
		keeps = func(o Outcome) bool { return !within(o.USD, p.Budget) }
	}
	// keeps is false below some rate and true above it.
	for range halving {
		mid := (low + high) / 2
		s.fill(plan, decided, variants, math.Exp(mid))
		if keeps(s.evaluate(plan)) {
			high = mid
		} else {
			low = mid
		}
	}
	rate := math.Exp(high)
	if p.Objective == Time {
		rate = math.Exp(low)
	}
	s.fill(plan, decided, variants, rate)
	out := s.evaluate(plan)
	if !p.Keeps(out) {
		last := float64(fastest)
		if p.Objective == Time {
			last = 0
		}
		s.fill(plan, decided, variants, last)
		out = s.evaluate(plan)
	}
	return relaxed{rate, out, p.Keeps(out)}
}

// walk is an episode of [Each]: functions are decided in the menu's order, one a step.
type walk struct {
	task
	decided []int32 // by function: its offer, −1 before it is decided
	at      int     // functions that are decided
	// asked is the problem as it was asked, first the plan of the relaxed problem at the beginning. Where plans are served,
	// problem has the margin that was chosen; margin is its number, −1 before it is chosen.
	asked  Problem
	first  Outcome
	margin int
	// penalty is what a missed percentile costs where the episode draws it, else 0.
	penalty float64
	// now is the best plan known that keeps the constraints and the decisions; outcome is what it gives.
	now     []int
	outcome Outcome
	views   []view // of the offers of the function that is next
	rest    []int
	trial   []int
	// by variant of that function: the plan with it, and whether there is one.
	plans [][]int
	with  []relaxed
	// What rows are written from.
	seenFunction seenFunction
	seenOffer    seenOffer
}

// view describes one offer of the next function.
type view struct {
	legal bool
	edge  bool    // it keeps the constraints only where the rest does its utmost for them
	out   Outcome // of the plan with it
	cost  float64 // of the relaxed problem: price plus rate times time, less the least of the variant
}

// start begins an episode of a problem that can be solved.
func (w *walk) restart(n *menu, p Problem) {
	w.asked, w.margin = p, -1
	p.Percentile = 0
	w.task.begin(n, p)
	w.first = w.ideal
	k := len(n.offers)
	w.decided, w.now, w.rest, w.trial = reuse.Slice(w.decided, k), reuse.Slice(w.now, k), reuse.Slice(w.rest, k), reuse.Slice(w.trial, k)
	for f := range w.decided {
		w.decided[f] = -1
	}
	w.at = 0
	copy(w.now, w.start)
	w.outcome = w.evaluate(w.now)
	w.look()
}

// choosing reports whether the margin is what is decided next.
func (w *walk) choosing() bool { return w.asked.Percentile > 0 && w.margin < 0 }

// over reports whether all is decided.
func (w *walk) over() bool { return !w.choosing() && w.at == len(w.menu.order) }

// function is the one that is next; −1 where there is none.
func (w *walk) function() int {
	if w.choosing() || w.at == len(w.menu.order) {
		return -1
	}
	return w.menu.order[w.at]
}

// consistent reports whether a combination of variants agrees with the decisions and gives function f the variant.
func (w *walk) consistent(c, f, variant int) bool {
	for k, g := range w.menu.rated {
		v := w.menu.combinations[c][k]
		if g == f && v != variant || w.decided[g] >= 0 && w.menu.offers[g][w.decided[g]].variant != v {
			return false
		}
	}
	return true
}

// tries bounds the combinations of variants that are solved anew for each variant of a function.
const tries = 3

// look works out what follows from each offer of the function that is next. At least one is legal: that of now.
func (w *walk) look() {
	f := w.function()
	w.views = w.views[:0]
	switch {
	case w.choosing():
		w.lookAtMargins()
		return
	case f < 0:
		return
	}
	w.learn(w.now, 0.3)
	offers := w.menu.offers[f]
	w.views = reuse.Slice(w.views, len(offers))
	for len(w.plans) < len(w.menu.spans[f]) {
		w.plans = append(w.plans, nil)
	}
	w.with = reuse.Slice(w.with, len(w.menu.spans[f]))
	for v, span := range w.menu.spans[f] {
		if span[1] == span[0] {
			continue
		}
		w.plans[v] = reuse.Slice(w.plans[v], len(w.decided))
		w.with[v] = w.alternative(f, v, offers[w.now[f]].variant == v)
		w.judge(f, v, span)
	}
}

// alternative finds a plan with a variant of function f. mine says that it is that of now.
func (w *walk) alternative(f, v int, mine bool) relaxed {
	var best relaxed
	w.try(w.best, f, v, tries, &best)
	if !best.ok {
		w.try(w.quick, f, v, 1, &best)
	}
	switch {
	case !mine:
	case best.ok && !w.problem.Better(w.outcome, best.out):
		copy(w.now, w.plans[v])
		w.outcome = best.out
	default:
		if !best.ok {
			best.rate = w.scale
		}
		copy(w.plans[v], w.now)
		best.out, best.ok = w.outcome, true
	}
	return best
}

// try solves the relaxed problem anew with combinations of variants, the first ones of a list.
func (w *walk) try(list []int, f, v, most int, best *relaxed) {
	for _, c := range list {
		if most == 0 {
			return
		}
		if !w.consistent(c, f, v) {
			continue
		}
		most--
		if r := w.again(w.trial, w.decided, c); r.ok && (!best.ok || w.problem.Better(r.out, best.out)) {
			*best = r
			copy(w.plans[v], w.trial)
		}
	}
}

// judge looks at the offers of one variant of function f.
func (w *walk) judge(f, v int, span [2]int) {
	offers, with := w.menu.offers[f], w.with[v]
	for i := span[0]; i < span[1]; i++ {
		w.views[i] = view{}
	}
	if !with.ok {
		return
	}
	copy(w.trial, w.plans[v])
	if w.problem.Objective != Accuracy {
		w.extremes(f, v)
	}
	least := math.Inf(1)
	for i := span[0]; i < span[1]; i++ {
		o, s := &offers[i], &w.views[i]
		s.cost = o.usd + float64(with.rate*w.share[f]*o.seconds)
		least = min(least, s.cost)
		w.trial[f] = i
		s.out = w.evaluate(w.trial)
		if s.legal = w.problem.Keeps(s.out); !s.legal {
			s.edge = w.saved(f, i)
			s.legal = s.edge
		}
	}
	for i := span[0]; i < span[1]; i++ {
		w.views[i].cost -= least
	}
}

// extremes writes to rest a plan in which all that is not decided does its utmost for the constraint, with variant v of
// function f.
func (w *walk) extremes(f, v int) {
	for _, c := range w.quick {
		if w.consistent(c, f, v) {
			w.fill(w.rest, w.decided, w.menu.combinations[c], w.extreme())
			return
		}
	}
}

// saved writes to rest a plan with option i of function f that keeps the constraints, if it finds one.
func (w *walk) saved(f, i int) bool {
	if w.problem.Objective != Accuracy {
		w.rest[f] = i
		return w.problem.Keeps(w.evaluate(w.rest))
	}
	v := w.menu.offers[f][i].variant
	w.decided[f] = int32(i)
	defer func() { w.decided[f] = -1 }()
	for _, c := range w.best {
		if w.consistent(c, f, v) {
			return w.again(w.rest, w.decided, c).ok
		}
	}
	return false
}

// take decides the function that is next.
func (w *walk) take(i int) {
	if w.choosing() {
		w.takeMargin(i)
		return
	}
	f := w.function()
	v := w.menu.offers[f][i].variant
	copy(w.now, w.plans[v])
	if w.views[i].edge {
		if w.problem.Objective != Accuracy {
			w.extremes(f, v)
		}
		w.saved(f, i)
		copy(w.now, w.rest)
	}
	w.now[f] = i
	w.decided[f] = int32(i)
	w.at++
	w.outcome = w.evaluate(w.now)
	w.look()
}

// lookAtMargins works out what the relaxed problem gives with each margin. The last one is 1, which can be kept.
func (w *walk) lookAtMargins() {
	w.views = reuse.Slice(w.views, len(margins))
	for k, m := range margins {
		p, best := w.problem, relaxed{}
		p.Latency = float64(m * w.asked.Latency)
		for _, list := range [...][]int{w.best[:min(len(w.best), tries)], w.quick[:1]} {
			for _, c := range list {
				r := w.solve(&p, w.trial, w.none, w.menu.combinations[c], w.scale)
				if r.ok && (!best.ok || p.Better(r.out, best.out)) {
					best = r
				}
			}
		}
		w.views[k] = view{legal: best.ok, out: best.out}
	}
	w.views[len(margins)-1] = view{legal: true, out: w.outcome}
}

// takeMargin goes on with the mean time bounded by a part of what is allowed.
func (w *walk) takeMargin(i int) {
	p := w.problem
	p.Latency = float64(margins[i] * w.asked.Latency)
	w.margin = i
	w.task.begin(w.menu, p)
	copy(w.now, w.start)
	w.outcome = w.evaluate(w.now)
	w.look()
}
