package frontier

import (
	"container/heap"
	"context"
	"math"
	"slices"
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

func (b *boxes) Len() int           { return len(b.open) }
func (b *boxes) Less(i, j int) bool { return b.open[i].bound < b.open[j].bound }
func (b *boxes) Swap(i, j int)      { b.open[i], b.open[j] = b.open[j], b.open[i] }
func (b *boxes) Push(x any)         { b.open = append(b.open, x.(*box)) }
func (b *boxes) Pop() any {
	n := len(b.open) - 1
	x := b.open[n]
	b.open[n] = nil
	b.open = b.open[:n]
	return x
}

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
		heap.Push(b, root)
	}
	for b.Len() > 0 {
		x := heap.Pop(b).(*box)
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
			heap.Push(b, half)
		}
	}
}

func (x *box) clone() *box {
	y := *x
	y.lo, y.hi, y.slope = slices.Clone(x.lo), slices.Clone(x.hi), slices.Clone(x.slope)
	return &y
}

func stopped(ctx context.Context) bool { return ctx.Err() != nil }
