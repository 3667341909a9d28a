package variants

import "slices"

// box are the options of a combination of variants, per function those that no other dominates. Option 0 is the best one
// for the objective: the cheapest, or where a percentile is to be least, the fastest. The objective never falls where
// options rise, and what is bounded never rises.
type box struct {
	s       *tailSearch
	options [][]int
	bound   float64
}

func (s *tailSearch) box(l *levels, ranks []int) *box {
	b := &box{s: s, options: s.m.pareto(l, func(f, rank int) bool { return rank == ranks[f] })}
	if s.p.Objective != Time {
		for _, kept := range b.options {
			slices.Reverse(kept)
		}
	}
	return b
}

// choice maps a point of the box to options.
func (b *box) choice(at []int) []int {
	out := make([]int, len(at))
	for f, i := range at {
		out[f] = b.options[f][i]
	}
	return out
}

// corner is the point at a share of the way from the first options to the last.
func (b *box) corner(share float64) []int {
	out := make([]int, len(b.options))
	for f := range out {
		out[f] = int(share * float64(len(b.options[f])-1))
	}
	return out
}

// usd is the cost of a choice, orchestration included.
func (s *tailSearch) usd(choice []int) float64 {
	return Executions * (s.m.functionsUSD(choice) + s.m.OrchestrationUSD(s.m.seconds(s.scratch, choice)))
}

func (b *box) objective(at []int) (float64, error) {
	if b.s.p.Objective == Time {
		return b.s.quantile(b.choice(at))
	}
	return b.s.usd(b.choice(at)), nil
}

// keeps reports whether a point keeps the bound that gets easier where options rise: that on the cost for [Time], that on
// the percentile otherwise.
func (b *box) keeps(at []int) (bool, error) {
	if b.s.p.Objective == Time {
		return within(b.s.usd(b.choice(at)), b.s.p.Budget), nil
	}
	if b.s.p.Latency == 0 {
		return true, nil
	}
	q, err := b.s.quantile(b.choice(at))
	return within(q, b.s.p.Latency), err
}

// vertex is a box's point such that every point from it on may still be the best one.
type vertex struct {
	at    []int
	value float64
}

// Before orders vertices.
func (v vertex) Before(o vertex) bool { return v.value < o.value }

// last returns the last point between a vertex and the far corner that does not keep the bound, nil where the vertex does,
// and the first that does.
func (b *box) last(from, far []int) (y, behind []int, err error) {
	if ok, err := b.keeps(from); err != nil || ok {
		return nil, from, err
	}
	between := func(step int) []int {
		out := make([]int, len(from))
		for f := range out {
			out[f] = min(far[f], from[f]+step)
		}
		return out
	}
	low, high := 0, 0
	for f := range far {
		high = max(high, far[f]-from[f])
	}
	for high-low > 1 {
		mid := (low + high) / 2
		ok, err := b.keeps(between(mid))
		if err != nil {
			return nil, nil, err
		}
		if ok {
			high = mid
		} else {
			low = mid
		}
	}
	return between(low), between(high), nil
}
