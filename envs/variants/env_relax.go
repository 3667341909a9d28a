package variants

import "math"

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
	s.choice, s.share = resized(s.choice, len(n.offers)), resized(s.share, len(n.offers))
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
