package variants

import "math"

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
