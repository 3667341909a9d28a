package steps

import (
	"math"

	"github.com/stoker-rl/stoker/envs/steps"
)

// family is some plans of a whole workflow, from the cheapest to the fastest: points of its front of time and price.
type family struct {
	plans [][]int32 // per plan the place of each step's option in its menu
	// behind is per step and plan what the plan says of the time behind the step, ready the predicted quantile from the
	// step's begin on, and running that behind it.
	behind         [][]tail
	ready, running [][]float64
	points         [][]point // per step and option its own
	active         []active  // scratch of a decision
}

// tail is the time on the path with the largest quantile: the mean, and the square of the quantile minus the mean.
type tail struct{ seconds, spread float64 }

// mostPlans bounds a family.
const mostPlans = 256

// gap is how far the front that plans are taken from is from the exact one.
const gap = 2e-3

func newFamily(m *steps.Model, g graph, menus []menu, points [][]point) family {
	plain := make([]menu, len(menus)) // with the seconds that plans add up
	for v, l := range menus {
		for i, o := range l {
			o.seconds, o.code = points[v][i].seconds, i // as the rest of the family counts
			plain[v] = append(plain[v], o)
		}
		plain[v] = staircase(plain[v])
	}
	all := newPlans(m, plain, gap)
	n := len(menus)
	f := family{points: points, behind: make([][]tail, n), ready: make([][]float64, n), running: make([][]float64, n)}
	front := all.some(g)
	scale := mostPlans / math.Log(1e-9+front[len(front)-1].Seconds/front[0].Seconds)
	last := math.Inf(1)
	for k := len(front) - 1; k >= 0; k-- {
		// One plan for each cell of the logarithm of time.
		cell := math.Floor(scale * math.Log(front[k].Seconds/front[0].Seconds))
		if cell == last && k > 0 {
			continue
		}
		last = cell
		plan := make([]int32, len(menus))
		for v := range plan {
			plan[v] = int32(all.menus[v][front[k].Choice[v]].code)
		}
		f.add(g, plan)
	}
	return f
}

// add appends a plan.
func (f *family) add(g graph, plan []int32) {
	k := len(f.plans)
	f.plans = append(f.plans, plan)
	for v := range plan {
		f.behind[v] = append(f.behind[v], tail{})
	}
	for i := len(g.order) - 1; i >= 0; i-- {
		v := g.order[i]
		longest := 0.0
		for _, w := range g.next[v] {
			p, b := &f.points[w][plan[w]], f.behind[w][k]
			b = tail{b.seconds + p.seconds, b.spread + p.spread}
			if t := b.seconds + root(b.spread); t > longest {
				longest, f.behind[v][k] = t, b
			}
		}
		p, b := &f.points[v][plan[v]], f.behind[v][k]
		f.running[v] = append(f.running[v], b.seconds+root(b.spread))
		f.ready[v] = append(f.ready[v], p.seconds+b.seconds+root(p.spread+b.spread))
	}
}

// active is a step that is ready or runs.
type active struct {
	step  int
	ready bool
	// Of a running one the time at which its option is predicted to end, as the mean and the square of what the quantile is
	// above it.
	ends, spread float64
}

// decide returns the place of a step's option.
func (f *family) decide(menus []menu, at *steps.Moment, slo float64, step int, chosen []int) int {
	f.active = f.active[:0]
	for v, state := range at.State {
		switch {
		case state == steps.Ready:
			f.active = append(f.active, active{step: v, ready: true})
		case state == steps.Running && chosen[v] >= 0:
			p := &f.points[v][chosen[v]]
			f.active = append(f.active, active{step: v, ends: at.Begun[v] + p.seconds, spread: p.spread})
		}
	}
	return f.slowest(menus[step], step, f.cheapest(at.Now, slo), slo-at.Now)
}

// patience is after how many plans in a row that do not keep the limit no cheaper one is looked for.
const patience = 8

// cheapest returns the cheapest plan that ends within the limit, the fastest where there is none. Of two plans the faster
// one nearly always leaves the shorter rest, so it is looked for by halves, and then among those that are a little
// cheaper.
func (f *family) cheapest(now, slo float64) int {
	lo, hi := 0, len(f.plans)-1
	for lo < hi {
		if mid := (lo + hi) / 2; f.keeps(now, slo, mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	best, failed := lo, 0
	for k := lo - 1; k >= 0 && failed < patience; k-- {
		failed++
		if f.keeps(now, slo, k) {
			best, failed = k, 0
		}
	}
	return best
}

// keeps reports whether a plan ends within the limit from where the request is.
func (f *family) keeps(now, slo float64, k int) bool {
	for i := range f.active {
		a := &f.active[i]
		v := a.step
		if a.ready {
			if now+f.ready[v][k] > slo {
				return false
			}
			continue
		}
		// A step that runs longer than was predicted may end at any time.
		b := f.behind[v][k]
		if max(now+f.running[v][k], a.ends+b.seconds+root(a.spread+b.spread)) > slo {
			return false
		}
	}
	return true
}

// slowest returns the cheapest option of a step that leaves a plan its time, the fastest where there is none. Mostly it is
// that of the plan or one a little slower.
func (f *family) slowest(l menu, step, k int, left float64) int {
	b := f.behind[step][k]
	fits := func(i int) bool {
		p := &f.points[step][i]
		return p.seconds+b.seconds+root(p.spread+b.spread) <= left
	}
	i := int(f.plans[k][step])
	if fits(i) {
		for j := i + 1; j < len(l) && j <= i+patience; j++ {
			if fits(j) {
				i = j
			}
		}
		return i
	}
	for i > 0 && !fits(i) {
		i--
	}
	return i
}
