package frontier

import (
	"context"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/internal/heap"
)

// box is a set of configurations: for each variable the labels from lo to hi, with the best plane known for it.
type box struct {
	lo, hi []int32
	plane
	bound float64 // of the objective
}

// boxes is a branch and bound over boxes, the one with the least bound first. In a box, a plane (see [plane]) makes
// rate·time + price a sum over variables, whose least value is found variable by variable: no configuration of the box is
// below it. Subgradient steps improve the plane. A label that lifts the sum to what the best configuration found has is
// dropped; few are left then. A box is split where the mixture of the labels that the steps met, which is about the
// solution of the linear relaxation, is farthest from a label.
type boxes struct {
	*core
	goal  goal
	open  []*box
	nodes int

	best                 []int32 // nil: none
	bestSeconds, bestUSD float64

	row                 []int32 // a configuration, and its times
	times, mean, slopes []float64
	rate                float64 // of the first box
}

func newBoxes(c *core, g goal) *boxes {
	n := len(c.vars)
	return &boxes{core: c, goal: g, row: make([]int32, n), times: make([]float64, n), mean: make([]float64, n),
		slopes: make([]float64, n)}
}

// Before orders the open boxes.
func (b *box) Before(o *box) bool { return b.bound < o.bound }

// Steps of the subgradient in the first box and in later ones, whose planes are good from the start. The k-th step moves
// the plane by 2/(k+warm).
const (
	rootSteps, rootWarm = 400, 3
	boxSteps, boxWarm   = 30, 20
)

// run searches until the best configuration is the optimum or the context is done, and returns what the objective is at
// least.
func (b *boxes) run(ctx context.Context) (float64, error) {
	root := b.root()
	if b.best == nil {
		return 0, ErrNone
	}
	more := b.tighten(root, rootSteps, rootWarm)
	b.polish()
	if more {
		heap.Push(&b.open, root)
	}
	for len(b.open) > 0 {
		x := heap.Pop(&b.open)
		if b.reached(x.bound) {
			break
		}
		if stopped(ctx) {
			return x.bound, nil
		}
		b.split(x)
	}
	return b.goal.value(b.bestSeconds, b.bestUSD), nil
}

// root returns the box of all configurations, and offers its fastest and cheapest ones.
func (b *boxes) root() *box {
	n := len(b.vars)
	x := &box{lo: make([]int32, n), hi: make([]int32, n), plane: plane{slope: make([]float64, n)}, bound: math.Inf(-1)}
	for v, s := range b.vars {
		x.hi[v] = int32(len(s.labels) - 1)
	}
	cheapest, slowest := b.at(x.hi)
	b.offer(slowest, cheapest)
	dearest, fastest := b.at(x.lo)
	b.offer(fastest, dearest)
	b.goal.seconds, b.goal.usd = min(b.goal.seconds, slowest), min(b.goal.usd, dearest) // what none exceeds is no bound
	x.rate = 1
	if slowest > fastest && dearest > cheapest {
		x.rate = (dearest - cheapest) / (slowest - fastest)
	}
	b.rate = x.rate
	x.intercept = b.touch(b.times, x.slope)
	return x
}

// at puts a configuration into the row and returns its price and time.
func (b *boxes) at(row []int32) (usd, seconds float64) {
	copy(b.row, row)
	for v, i := range row {
		b.times[v] = b.vars[v].labels[i].t
	}
	return b.usd(), b.seconds(b.times)
}

// usd is the price of the row.
func (b *boxes) usd() float64 {
	var usd float64
	for v, i := range b.row {
		usd += b.vars[v].labels[i].c
	}
	return usd
}

// offer makes the row the best configuration if it is.
func (b *boxes) offer(seconds, usd float64) bool {
	if seconds > b.goal.seconds || usd > b.goal.usd {
		return false
	}
	if b.best != nil && b.goal.value(seconds, usd) >= b.goal.value(b.bestSeconds, b.bestUSD) {
		return false
	}
	b.best, b.bestSeconds, b.bestUSD = append(b.best[:0], b.row...), seconds, usd
	if b.goal.cost {
		b.goal.usd = usd
	} else {
		b.goal.seconds = seconds
	}
	return true
}

// reached reports whether nothing with a bound can be better than the best configuration.
func (b *boxes) reached(bound float64) bool {
	return b.best != nil && bound >= b.goal.value(b.bestSeconds, b.bestUSD)*(1-tie)
}

// split divides a box between two labels of a variable: the one whose price differs most from what the mixture of labels
// around its mean time costs.
func (b *boxes) split(x *box) {
	y := x.clone()
	clear(b.mean)
	for step := range boxSteps {
		b.least(y)
		b.step(y, 2/float64(step+boxWarm))
	}
	at, behind, most := -1, int32(0), -1.0
	for v, s := range b.vars {
		if x.lo[v] == x.hi[v] {
			continue
		}
		mean := b.mean[v] / boxSteps
		k := x.lo[v]
		for k+1 < x.hi[v] && s.labels[k+1].t <= mean {
			k++
		}
		l, r := s.labels[k], s.labels[k+1]
		share := min(1, max(0, (mean-l.t)/(r.t-l.t)))
		// Where no mean is between labels, the variable with the widest prices is split.
		width := s.labels[x.lo[v]].c - s.labels[x.hi[v]].c
		if w := float64(min(share, 1-share)*(l.c-r.c)) + float64(1e-6*width); w > most {
			at, behind, most = v, k, w
		}
	}
	if at < 0 {
		return // one configuration, which was offered
	}
	low, high := x.clone(), x.clone()
	low.hi[at], high.lo[at] = behind, behind+1
	for _, half := range []*box{low, high} {
		if b.tighten(half, boxSteps, boxWarm) {
			heap.Push(&b.open, half)
		}
	}
}

func (x *box) clone() *box {
	y := *x
	y.lo, y.hi, y.slope = slices.Clone(x.lo), slices.Clone(x.hi), slices.Clone(x.slope)
	return &y
}

func stopped(ctx context.Context) bool { return ctx.Err() != nil }

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
