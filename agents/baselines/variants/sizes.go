package variants

import (
	"math"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
)

// move is a change of one function's option.
type move struct {
	f, option      int
	benefit, price float64
	ratio          float64
}

// change returns what an outcome gains at the objective and what it pays: for the least time the milliseconds saved and
// the USD more, for the least cost the USD saved and the milliseconds more.
func (l *Planner) change(to variants.Outcome, ofTime bool) (benefit, price float64) {
	// The differences are taken this way round: a price of nothing must be 0, not -0, for its ratio to be +Inf.
	if ofTime {
		return l.now.USD - to.USD, milliseconds * (to.Seconds - l.now.Seconds)
	}
	return milliseconds * (l.now.Seconds - to.Seconds), to.USD - l.now.USD
}

// sizes is the second phase: it changes memory sizes until no way has a change that fits. ofTime is for the least cost,
// which spends time; otherwise money is spent.
func (l *Planner) sizes(strategy Strategy, ofTime bool) {
	if ofTime && l.o.Aliases && (strategy == Slope || strategy == Last) {
		strategy = Disabled
	}
	l.filter(strategy, ofTime)
	last, order := 0.0, 0
	for left := l.left(ofTime); open(left); left = l.left(ofTime) {
		l.steps++
		functions := l.critical(order, ofTime)
		best := move{f: -1}
		if l.o.Free {
			best = l.free(functions, ofTime)
		}
		if best.f < 0 {
			best = l.pick(functions, strategy, ofTime, left, last)
		}
		if best.f < 0 {
			if order++; order >= len(l.ways) {
				return
			}
			continue
		}
		l.set(best.f, best.option)
		if last = best.benefit / best.price; math.IsInf(last, 1) {
			last = 0
		}
	}
}

// pick returns the change that the strategy ranks first; its f is -1 where there is none.
func (l *Planner) pick(functions []int, strategy Strategy, ofTime bool, left, last float64) move {
	best := move{f: -1}
	for _, f := range functions {
		own := move{f: -1}
		from, to := l.m.VariantOptions(f, l.m.Options[f][l.choice[f]].Variant)
		// Of equal changes of a function the programs take the one that they see last: the nearest to the present size.
		first, end, by := to-1, l.choice[f], -1
		if ofTime {
			first, by = from, 1
		}
		for c := first; c != end; c += by {
			if !l.kept[f][c] {
				continue
			}
			switch dearer, slack := l.dearerBy(f, c); {
			case !ofTime && (dearer > left+slack || l.slower(f, c)), ofTime && dearer > slack:
				continue // the full evaluation below would say the same
			}
			m := move{f: f, option: c}
			m.benefit, m.price = l.change(l.try(f, c), ofTime)
			if !(m.price < left) || !(m.benefit > 0) {
				continue
			}
			m.ratio = m.benefit / m.price
			if strategy == Last && !(m.ratio > last*l.o.Threshold) {
				continue
			}
			if own.f < 0 || m.above(own, strategy) >= 0 {
				own = m
			}
		}
		if own.f < 0 {
			continue
		}
		if best.f < 0 {
			best = own
			continue
		}
		switch a := own.above(best, strategy); {
		case a > 0, a == 0 && strategy != Max && l.mb(own) < l.mb(best):
			best = own
		}
	}
	return best
}

// dearerBy returns by how much another option of a function makes the application's runs dearer in USD per million
// executions, without evaluating the application, and what rounding may move of it. Where the cost also depends on the
// response time it is not known: -Inf.
func (l *Planner) dearerBy(f, option int) (usd, slack float64) {
	if l.m.Orchestration == bill.Express {
		return math.Inf(-1), 0
	}
	to, from := l.m.Options[f][option].USD, l.m.Options[f][l.choice[f]].USD
	return variants.Executions * l.m.Runs[f] * (to - from), 1e-9 * l.now.USD
}

// slower reports whether an option takes at least as long as the present one: then the response time cannot fall.
func (l *Planner) slower(f, option int) bool {
	return l.m.Options[f][option].Seconds >= l.m.Options[f][l.choice[f]].Seconds
}

// above compares two changes: by benefit, then by price; for [Max] by their ratio first.
func (m move) above(other move, strategy Strategy) int {
	if strategy == Max && m.ratio != other.ratio {
		return sign(m.ratio - other.ratio)
	}
	if m.benefit != other.benefit {
		return sign(m.benefit - other.benefit)
	}
	return sign(other.price - m.price)
}

func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func (l *Planner) mb(m move) float64 { return l.m.Options[m.f][m.option].MB }

// free returns the change that worsens nothing and saves the most; its f is -1 where there is none.
func (l *Planner) free(functions []int, ofTime bool) move {
	best := move{f: -1}
	for _, f := range functions {
		from, to := l.m.VariantOptions(f, l.m.Options[f][l.choice[f]].Variant)
		for c := from; c < to; c++ {
			if dearer, slack := l.dearerBy(f, c); c == l.choice[f] || dearer > slack {
				continue
			}
			m := move{f: f, option: c}
			m.benefit, m.price = l.change(l.try(f, c), ofTime)
			if m.price < 0 && m.benefit >= 0 && (best.f < 0 || m.price < best.price) {
				best = m
			}
		}
	}
	return best
}
