package variants

import "math"

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
