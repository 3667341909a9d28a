package frontier

import "math"

// tighten improves a box's bound by subgradient steps and drops labels that no better configuration has. It reports
// whether a better configuration can be left.
func (b *boxes) tighten(x *box, steps, warm int) bool {
	b.nodes++
	if !b.within(x) {
		return false
	}
	best := x.clone()
	for step := range steps {
		if step%8 == 0 {
			b.rerate(x)
		}
		if bound := b.goal.bound(b.least(x), x.rate); bound > best.bound {
			best.bound, best.intercept, best.rate = bound, x.intercept, x.rate
			copy(best.slope, x.slope)
			if b.reached(bound) {
				return false
			}
		}
		if b.step(x, 2/float64(step+warm)) {
			b.polish()
		}
	}
	x.bound, x.plane = best.bound, best.plane
	return b.drop(x)
}

// least puts the labels of the least sum of rate·time + price into the row, by a box's plane, and returns the sum.
func (b *boxes) least(x *box) float64 {
	sum := float64(x.rate * x.intercept)
	for v, s := range b.vars {
		rate := x.rate * x.slope[v]
		least := math.Inf(1)
		for i := x.lo[v]; i <= x.hi[v]; i++ {
			if y := float64(rate*s.labels[i].t) + s.labels[i].c; y < least {
				b.row[v], least = i, y
			}
		}
		b.times[v] = s.labels[b.row[v]].t
		sum += least
	}
	return sum
}

// step offers the row and moves a box's plane by a share towards the one that touches the time at the row. It reports
// whether the row is the best configuration now.
func (b *boxes) step(x *box, share float64) bool {
	for v, t := range b.times {
		b.mean[v] += t
	}
	intercept := b.touch(b.times, b.slopes)
	better := b.offer(b.value[b.last], b.usd())
	x.intercept += float64(share * (intercept - x.intercept))
	for v := range x.slope {
		x.slope[v] += float64(share * (b.slopes[v] - x.slope[v]))
	}
	return better
}

// maxRate bounds the factor between the rates of boxes and that of the first one.
const maxRate = 1e9

// rerate finds the rate of the best bound by a box's plane: the one at which the least sum takes just the time, or costs
// just the price, that is allowed.
func (b *boxes) rerate(x *box) {
	low, high := max(x.rate/8, b.rate/maxRate), min(x.rate*8, b.rate*maxRate)
	for range 18 {
		x.rate = math.Sqrt(low) * math.Sqrt(high)
		b.least(x)
		tooLow := b.usd() <= b.goal.usd
		if b.goal.cost {
			t := x.intercept
			for v, s := range b.times {
				t += float64(x.slope[v] * s)
			}
			tooLow = t > b.goal.seconds
		}
		if tooLow {
			low = x.rate
		} else {
			high = x.rate
		}
	}
}

// polish changes the best configuration, one variable after the other, as long as it gets better.
func (b *boxes) polish() {
	for better := true; better; {
		better = false
		b.at(b.best)
		for v, s := range b.vars {
			was := b.row[v]
			for i, l := range s.labels {
				if int32(i) == was {
					continue
				}
				b.row[v], b.times[v] = int32(i), l.t
				if b.offer(b.seconds(b.times), b.usd()) {
					better = true
				}
			}
			b.row[v], b.times[v] = was, s.labels[was].t
		}
	}
}

// within drops the labels of a box that are too slow with the fastest of all others, or too dear with the cheapest. It
// reports whether a better configuration can be left.
func (b *boxes) within(x *box) bool {
	usd, _ := b.at(x.hi)
	_, seconds := b.at(x.lo)
	if usd > b.goal.usd || seconds > b.goal.seconds || b.reached(b.goal.value(seconds, usd)) {
		return false
	}
	for v, s := range b.vars {
		for x.lo[v] < x.hi[v] && usd-s.labels[x.hi[v]].c+s.labels[x.lo[v]].c > b.goal.usd {
			x.lo[v]++
		}
		low, high := x.lo[v], x.hi[v]+1
		for high-low > 1 {
			mid := (low + high) / 2
			b.times[v] = s.labels[mid].t
			if b.seconds(b.times) > b.goal.seconds {
				high = mid
			} else {
				low = mid
			}
		}
		x.hi[v], b.times[v] = low, s.labels[x.lo[v]].t
	}
	return true
}

// drop drops labels at both ends of a box with which the least sum by its plane is no better than the best configuration.
func (b *boxes) drop(x *box) bool {
	limit := b.goal.usd + float64(x.rate*b.goal.seconds)
	limit -= float64(tie * limit)
	sum := b.least(x)
	if sum >= limit {
		return false
	}
	for v, s := range b.vars {
		with := func(i int32) float64 { return float64(x.rate*float64(x.slope[v]*s.labels[i].t)) + s.labels[i].c }
		others := sum - with(b.row[v])
		for x.lo[v] < b.row[v] && others+with(x.lo[v]) >= limit {
			x.lo[v]++
		}
		for x.hi[v] > b.row[v] && others+with(x.hi[v]) >= limit {
			x.hi[v]--
		}
	}
	return true
}
