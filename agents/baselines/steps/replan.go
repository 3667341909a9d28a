package steps

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// How the times of the steps that are left make one.
const (
	// Pooled adds the means, and the squares of each quantile minus its mean: the quantile of a sum of independent
	// normal times.
	Pooled = "pooled"
	// Added adds the quantiles.
	Added = "added"
)

// ReplanConfig configures [Replan].
type ReplanConfig struct {
	// Quantile is that of the time that is left.
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
	// Risk says how the quantiles of several steps make one.
	Risk string `yaml:"risk" json:"risk" oneof:"pooled|added"`
	// Cap says how steps that share a cluster's cores are planned: none as if each ran alone, siblings with the options that
	// fit into a step's share of the cores, schedule by predicted waits for room. Where cores are not bounded all are none.
	Cap string `yaml:"cap" json:"cap" oneof:"none|siblings|schedule|"`
}

// DefaultReplan plans by the 90th percentile of the time that is left.
func DefaultReplan() ReplanConfig { return ReplanConfig{Quantile: 0.9, Risk: Pooled, Cap: NoCap} }

// Replan follows the cheapest plan for all that is left, and plans anew before every step, with the clock. On a chain the
// exact front of each suffix is made once for a workflow. On other graphs the front of the whole workflow is: before a
// step, the cheapest plan is read whose rest ends within the limit from where the request is, the steps that run included;
// the step itself then takes the cheapest option that leaves the plan's other steps their time.
//
// Where nothing keeps the limit, the fastest plan is followed, and once the limit has passed, the cheapest.
type Replan struct {
	config ReplanConfig
	tables tables[*steps.Model, *fronts]
	*fronts
	model  *steps.Model
	slo    float64
	chosen []int               // places in the menus
	shared steps.SharedPlanner // with the cap schedule
	aim    steps.Aim
}

// fronts is what Replan keeps of a workflow.
type fronts struct {
	graph
	platform *steps.Platform
	menus    []menu // with times at the quantile
	readings []reading
	family   // on graphs that are no chains
}

// NewReplan returns the decider.
func NewReplan(c ReplanConfig) (*Replan, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	r := &Replan{config: c}
	r.tables.make = func(m *steps.Model) *fronts { return r.newFronts(m, menusAt(m, c.Quantile)) }
	r.aim = inLimit(distuv.UnitNormal.Quantile(c.Quantile))
	return r, nil
}

func (r *Replan) newFronts(m *steps.Model, menus []menu) *fronts {
	f := &fronts{graph: newGraph(m.Flow), platform: &m.Platform, menus: menus}
	points := make([][]point, len(f.menus))
	for v, l := range f.menus {
		for i, o := range l {
			p := point{seconds: o.seconds, usd: o.option.USD, first: int32(i)}
			if r.config.Risk == Pooled {
				p.seconds, p.spread = o.option.Mean, square(o.seconds-o.option.Mean)
			}
			points[v] = append(points[v], p)
		}
	}
	if f.fork() >= 0 {
		f.family = newFamily(m, f.graph, f.menus, points)
		return f
	}
	f.readings = make([]reading, len(points))
	var behind []point
	for _, v := range slices.Backward(f.order) {
		behind = suffix(points[v], behind)
		f.readings[v] = newReading(behind)
	}
	return f
}

// Begin implements [steps.Decider].
func (r *Replan) Begin(m *steps.Model, slo, _ float64) {
	r.model, r.slo = m, slo
	if r.scheduled() {
		r.shared.Begin(m)
		return
	}
	r.fronts = r.tables.of(m)
	r.chosen = reuse.Slice(r.chosen, len(r.menus))
	for v := range r.chosen {
		r.chosen[v] = -1
	}
}

// scheduled reports whether waits for room are predicted.
func (r *Replan) scheduled() bool { return r.config.Cap == Scheduled && r.model.SharesCluster() }

// Decide implements [steps.Decider].
func (r *Replan) Decide(at *steps.Moment, step int) int {
	if r.scheduled() {
		return r.shared.Best(at, step, r.aim)
	}
	l := r.menus[step]
	left := r.slo - at.Now
	var i int
	switch {
	case left <= 0:
		i = len(l) - 1
	case r.readings != nil:
		i = max(0, r.readings[step].at(left))
	default:
		r.recall(at)
		i = r.family.decide(r.menus, at, r.slo, step, r.chosen)
	}
	if r.config.Cap == Siblings {
		i = l.fitting(r.platform, i, share(r.model, at, step))
	} else if anyWarm(at, step) && left > 0 {
		i = l.warmed(r.platform, at, step, l[i].seconds*(1+1e-9)) // in the time that the plan gives the step
	}
	r.chosen[step] = i
	return l[i].code
}

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
	for _, v := range slices.Backward(g.order) {
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

// point is a plan for a step and all that comes after it.
type point struct {
	seconds float64 // of the plan, as the front is made
	spread  float64 // what of the predicted quantile is above the seconds, squared: squares of independent steps add up
	usd     float64
	first   int32 // place of the first step's option in its menu
}

// rest is the predicted quantile of the plan's time.
func (p *point) rest() float64 { return p.seconds + root(p.spread) }

// both are the seconds and the price.
func (p *point) both() (seconds, usd float64) { return p.seconds, p.usd }

// root and square keep the sign: a low quantile is below the mean.
func root(x float64) float64   { return math.Copysign(math.Sqrt(math.Abs(x)), x) }
func square(x float64) float64 { return float64(x * math.Abs(x)) }

// grain is the number of bits of a time by which fronts are thinned: within a time of one part in 512 and its double
// there is one point for each of 512 cells, the cheapest.
const grain = 52 - 9

// suffix returns the front of a step's points followed by a plan of the front behind it.
func suffix(step, behind []point) []point {
	if len(behind) == 0 {
		return undominated(slices.Clone(step), (*point).both)
	}
	low := step[0].seconds + behind[0].seconds
	high := step[len(step)-1].seconds + behind[len(behind)-1].seconds
	for _, p := range step {
		low, high = min(low, p.seconds+behind[0].seconds), max(high, p.seconds+behind[len(behind)-1].seconds)
	}
	from := math.Float64bits(low) >> grain
	cells := make([]point, math.Float64bits(high)>>grain-from+1)
	for i := range cells {
		cells[i].usd = math.Inf(1)
	}
	for _, a := range step {
		for _, b := range behind {
			t := a.seconds + b.seconds
			c := &cells[math.Float64bits(t)>>grain-from]
			if usd := a.usd + b.usd; usd < c.usd || usd == c.usd && t < c.seconds {
				*c = point{t, a.spread + b.spread, usd, a.first}
			}
		}
	}
	out := cells[:0]
	for _, p := range cells {
		if !math.IsInf(p.usd, 1) && (len(out) == 0 || p.usd < out[len(out)-1].usd) {
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}

// reading is a front as it is read: by the predicted quantile of the time that is left.
type reading struct {
	rest  []float64 // ascending
	first []int32   // place of the step's option in its menu
}

// newReading sorts a front by the quantile that is predicted.
func newReading(front []point) reading {
	all := slices.Clone(front)
	for i := range all {
		all[i].seconds = all[i].rest()
	}
	all = undominated(all, (*point).both)
	r := reading{make([]float64, len(all)), make([]int32, len(all))}
	for i, p := range all {
		r.rest[i], r.first[i] = p.seconds, p.first
	}
	return r
}

// at returns the first step's option of the cheapest plan that takes at most so many seconds, -1 where there is none.
func (r *reading) at(left float64) int {
	n := sort.Search(len(r.rest), func(i int) bool { return r.rest[i] > left })
	if n == 0 {
		return -1
	}
	return int(r.first[n-1])
}
