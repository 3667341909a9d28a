package steps

import (
	"math"

	"github.com/stoker-rl/stoker/envs/steps"
)

// family is some plans of a whole workflow, from the cheapest to the fastest: points of its front of time and price.
type family struct {
	plans [][]int32 // per plan the place of each step's option in its menu
	// after is per plan and step what the plan says of the time behind the step, on the path whose quantile is the largest:
	// the mean, and the square of what the quantile is above it.
	after  [][]float64
	spread [][]float64
	points [][]point // per step and option its own
}

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
	f := family{points: points}
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
	after, spread := make([]float64, len(plan)), make([]float64, len(plan))
	for k := len(g.order) - 1; k >= 0; k-- {
		v := g.order[k]
		longest := 0.0
		for _, w := range g.next[v] {
			p := &f.points[w][plan[w]]
			a, s := after[w]+p.seconds, spread[w]+p.spread
			if t := a + root(s); t > longest {
				longest, after[v], spread[v] = t, a, s
			}
		}
	}
	f.plans = append(f.plans, plan)
	f.after, f.spread = append(f.after, after), append(f.spread, spread)
}

// decide returns the place of a step's option.
func (f *family) decide(menus []menu, at *steps.Moment, slo float64, step int, chosen []int) int {
	for k := range f.plans {
		if f.keeps(at, slo, k, chosen) {
			return f.slowest(menus[step], step, k, slo-at.Now)
		}
	}
	return f.slowest(menus[step], step, len(f.plans)-1, slo-at.Now)
}

// keeps reports whether a plan ends within the limit from where the request is.
func (f *family) keeps(at *steps.Moment, slo float64, k int, chosen []int) bool {
	plan, after, spread := f.plans[k], f.after[k], f.spread[k]
	for v, state := range at.State {
		switch state {
		case steps.Ready:
			p := &f.points[v][plan[v]]
			if at.Now+p.seconds+after[v]+root(p.spread+spread[v]) > slo {
				return false
			}
		case steps.Running:
			if chosen[v] < 0 {
				continue
			}
			// A step that runs longer than was predicted may end at any time.
			p := &f.points[v][chosen[v]]
			ran := at.Now - at.Begun[v]
			if max(at.Now+after[v]+root(spread[v]), at.Now+p.seconds-ran+after[v]+root(p.spread+spread[v])) > slo {
				return false
			}
		}
	}
	return true
}

// slowest returns the cheapest option of a step that leaves a plan its time, the fastest where there is none.
func (f *family) slowest(l menu, step, k int, left float64) int {
	after, spread := f.after[k][step], f.spread[k][step]
	for i := len(l) - 1; i > 0; i-- {
		p := &f.points[step][i]
		if p.seconds+after+root(p.spread+spread) <= left {
			return i
		}
	}
	return 0
}
