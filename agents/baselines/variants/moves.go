package variants

import (
	"cmp"
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
		return cmp.Compare(m.ratio, other.ratio)
	}
	return cmp.Or(cmp.Compare(m.benefit, other.benefit), cmp.Compare(other.price, m.price))
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

// upgrade is the first phase (Algorithm 1): it chooses better variants, at the sizes that the functions have, until the
// accuracy is reached. ofTime is for the least cost, whose price of a variant is time (eq. 4.7).
func (l *Planner) upgrade(ofTime bool) {
	order := 0
	left := l.left(ofTime)
	base := l.now // what changes are charged from
	for !l.accurate(l.now.Accuracy) && open(left) {
		l.steps++
		best := move{f: -1}
		for _, f := range l.critical(order, false) {
			own := move{f: -1}
			at := l.m.Options[f][l.choice[f]]
			for _, v := range l.ladder[f][l.rung[f][at.Variant]+1:] {
				c := l.sized(f, v, at.MB)
				if c < 0 {
					continue
				}
				to := l.try(f, c)
				m := move{f: f, option: c, benefit: to.Accuracy - l.now.Accuracy, price: to.USD - base.USD}
				if ofTime {
					m.price = milliseconds * (to.Seconds - base.Seconds)
				}
				if !(m.price <= left) {
					continue
				}
				m.ratio = l.score(to.Accuracy, m.price, ofTime)
				if own.f < 0 || more(m.ratio, own.ratio) || !more(own.ratio, m.ratio) && m.price <= own.price {
					own = m
				}
			}
			if own.f >= 0 && (best.f < 0 || more(own.ratio, best.ratio) ||
				!more(best.ratio, own.ratio) && more(own.benefit, best.benefit)) {
				best = own
			}
		}
		if best.f < 0 {
			if order++; order >= len(l.ways) {
				return
			}
			continue
		}
		l.set(best.f, best.option)
		left -= best.price
		if ofTime || !l.o.ChargeTwice {
			base, left = l.now, l.left(ofTime)
		}
	}
}

// more reports whether a is greater than b by more than rounding moves: equal steps of two functions tie.
func more(a, b float64) bool { return a-b > 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// score is eq. 4.7: w·min(EAS - EASC, 0) - price.
func (l *Planner) score(accuracy, price float64, ofTime bool) float64 {
	missing := min(accuracy-l.p.Accuracy, 0)
	if l.o.Normalise {
		missing /= positive(l.span.accuracy[1] - l.span.accuracy[0])
		if ofTime {
			price /= milliseconds * positive(l.span.seconds[1]-l.span.seconds[0])
		} else {
			price /= positive(l.span.usd[1] - l.span.usd[0])
		}
	}
	return float64(l.o.Weight*missing) - price
}

// positive returns a range, or 1 where there is none.
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return 1
}

// sized returns a variant's option of a size: the same one, else the next larger one, else -1.
func (l *Planner) sized(f, variant int, mb float64) int {
	from, to := l.m.VariantOptions(f, variant)
	for c := from; c < to; c++ {
		if l.m.Options[f][c].MB >= mb {
			return c
		}
	}
	return -1
}

// accurate reports whether an accuracy is enough.
func (l *Planner) accurate(a float64) bool { return a >= l.p.Accuracy-1e-9*math.Abs(l.p.Accuracy) }

// raise is the search for the greatest accuracy: from the present choice it takes better variants with as much or more
// memory, by the accuracy gained per cost and time (eq. 4.10), until no way has one that fits.
func (l *Planner) raise() {
	order := 0
	for {
		money, time := l.left(false), l.left(true)
		if !open(money) || !open(time) {
			return
		}
		l.steps++
		best := gain{f: -1}
		for _, f := range l.critical(order, false) {
			own := l.dearer(f, money, time)
			if own.f >= 0 && (best.f < 0 || own.ratio > best.ratio || own.ratio == best.ratio && own.accuracy > best.accuracy) {
				best = own
			}
		}
		if best.f < 0 {
			if order++; order >= len(l.ways) {
				return
			}
			continue
		}
		l.set(best.f, best.option)
	}
}

// gain is a change of variant and memory.
type gain struct {
	f, option                   int
	ratio, accuracy, usd, extra float64
}

// dearer returns a function's best change by eq. 4.10; its f is -1 where there is none.
func (l *Planner) dearer(f int, money, time float64) gain {
	own := gain{f: -1}
	at := l.m.Options[f][l.choice[f]]
	for _, v := range l.ladder[f][l.rung[f][at.Variant]+1:] {
		from, to := l.m.VariantOptions(f, v)
		for c := to - 1; c >= from; c-- {
			o := l.m.Options[f][c]
			if o.MB < at.MB || l.o.Bundle && o.MB == at.MB {
				break
			}
			if !l.kept[f][c] {
				continue
			}
			out := l.try(f, c)
			g := gain{f: f, option: c, accuracy: out.Accuracy - l.now.Accuracy, usd: out.USD - l.now.USD,
				extra: milliseconds * (out.Seconds - l.now.Seconds)}
			if g.accuracy < 0 {
				break
			}
			g.ratio = g.accuracy / (l.share(math.Abs(g.usd), l.span.usd) + l.share(math.Abs(g.extra)/milliseconds, l.span.seconds))
			if !(g.usd <= money) || !(g.extra <= time) || math.IsNaN(g.ratio) {
				continue
			}
			if own.f < 0 || g.above(own) {
				own = g
			}
		}
	}
	return own
}

// share is a change as a share of its range, 0 where the range is empty.
func (l *Planner) share(change float64, of [2]float64) float64 {
	if of[1] == of[0] {
		return 0
	}
	return change / (of[1] - of[0])
}

// above reports whether a change of the same function ranks at least as high: by ratio, accuracy, cost, time.
func (g gain) above(o gain) bool {
	switch {
	case g.ratio != o.ratio:
		return g.ratio > o.ratio
	case g.accuracy != o.accuracy:
		return g.accuracy > o.accuracy
	case g.usd != o.usd:
		return g.usd < o.usd
	}
	return g.extra <= o.extra
}
