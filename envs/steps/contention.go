package steps

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// SharedPlanner looks for the plan of the rest of a request that suits an aim best, by schedules of all its steps on a cluster. It
// begins with the best of a few plans that were made beforehand, and changes a step's option at a time for as long as
// that helps. A SharedPlanner belongs to one goroutine and does not allocate after the first use.
type SharedPlanner struct {
	*sharedPlans
	m        *Model
	schedule Schedule
	course   Course
	loads    []Load
	picks    []int
}

// sharedPlans is what is known of a workflow on a cluster beforehand.
type sharedPlans struct {
	once sync.Once
	// Per step the options of the fronts within parts of the cluster, mean times ascending. places are those of the
	// options of the model.
	menus  [][]offered
	places [][]int
	starts [][]int // plans to begin with: places in the menus
}

// offered is an option with its load.
type offered struct {
	option int
	Load
}

// Parts of the cluster within which there are fronts, and rates in units of the workflow's price for its fastest time by
// which the plans to begin with trade price against time.
var (
	parts = []int{1, 2, 3, 4, 6, 8, 12, 16}
	trade = []float64{0, 0.1, 0.25, 0.5, 1, 2, 4, 8, 1e6}
)

func (c *sharedPlans) make(m *Model) {
	all := m.Platform.AllCores()
	for s := range m.Steps {
		var menu []offered
		for i := range m.Options[s] {
			menu = append(menu, offered{i, m.load(s, i)})
		}
		for _, part := range parts[1:] {
			for _, o := range m.Within(s, max(all/part, 1)) {
				i, err := m.Pack(s, o.MB, o.Instances, o.Processes)
				if err == nil && !slices.ContainsFunc(menu, func(x offered) bool { return x.option == i }) {
					menu = append(menu, offered{i, m.load(s, i)})
				}
			}
		}
		slices.SortStableFunc(menu, func(a, b offered) int { return cmp.Compare(a.Seconds, b.Seconds) })
		places := make([]int, len(m.Options[s]))
		for k, o := range menu {
			if o.option < len(places) {
				places[o.option] = k
			}
		}
		c.menus, c.places = append(c.menus, menu), append(c.places, places)
	}
	for _, part := range parts {
		for _, rate := range trade {
			plan := make([]int, len(c.menus))
			for s, menu := range c.menus {
				least := math.Inf(1)
				for i := range menu {
					cores := menu[i].Instances * menu[i].Cores
					x := float64(float64(max(cores-all/part, 0))*1e6) + menu[i].USD/unitOf(m) + float64(rate*menu[i].Seconds/m.Fastest)
					if x < least {
						plan[s], least = i, x
					}
				}
			}
			c.starts = append(c.starts, plan)
		}
	}
}

// Begin takes a workflow on a cluster.
func (c *SharedPlanner) Begin(m *Model) {
	m.shared.once.Do(func() { m.shared.make(m) })
	c.sharedPlans, c.m = &m.shared, m
	c.schedule.Begin(m)
}

// fastestShared is the least P90 in seconds of a request on the cluster by the plans to begin with.
func (m *Model) fastestShared() float64 {
	var c SharedPlanner
	c.Begin(m)
	n := len(m.Steps)
	at := Moment{SLO: math.Inf(1), State: make([]State, n), Choice: make([]int, n), Begun: make([]float64, n)}
	for s := range at.Choice {
		at.Choice[s] = -1
	}
	at.Ready = []int{m.Flow.Entry()}
	at.State[m.Flow.Entry()] = Ready
	return c.start(&at, func(_ *Moment, x *Course) float64 { return x.At(deviations) })
}

// Aim says how good a course is: the less the better.
type Aim func(at *Moment, c *Course) float64

// start sets the loads of what is decided, and of the best plan to begin with for the rest. It returns how good that is.
func (c *SharedPlanner) start(at *Moment, aim Aim) float64 {
	c.loads, c.picks = reuse.Slice(c.loads, len(c.menus)), reuse.Slice(c.picks, len(c.menus))
	for s, i := range at.Choice {
		switch {
		case i < 0:
		case i < len(c.places[s]):
			c.loads[s] = c.menus[s][c.places[s][i]].Load
		default:
			c.loads[s] = c.m.load(s, i)
		}
	}
	best, least := 0, math.Inf(1)
	for k := range c.starts {
		c.set(at, c.starts[k])
		if x := c.value(at, aim); x < least {
			best, least = k, x
		}
	}
	c.set(at, c.starts[best])
	copy(c.picks, c.starts[best])
	return least
}

func (c *SharedPlanner) set(at *Moment, plan []int) {
	for s, i := range plan {
		if at.Choice[s] < 0 {
			c.loads[s] = c.menus[s][i].Load
		}
	}
}

func (c *SharedPlanner) value(at *Moment, aim Aim) float64 {
	c.course = c.schedule.Follow(at, c.loads)
	return aim(at, &c.course)
}

// searches is how often all steps are gone through at most.
const searches = 3

// Best returns the option of a step by the plan that suits an aim best.
func (c *SharedPlanner) Best(at *Moment, step int, aim Aim) int {
	c.search(at, step, aim, searches)
	return c.menus[step][c.picks[step]].option
}

// Courses appends what the options on a ready step's front are predicted to come to, with a plan for the rest that was
// searched for once.
func (c *SharedPlanner) Courses(dst []Course, at *Moment, step int) []Course {
	c.search(at, step, expectedPrice, 1)
	for _, k := range c.places[step] {
		c.loads[step] = c.menus[step][k].Load
		dst = append(dst, c.schedule.Follow(at, c.loads))
	}
	return dst
}

// expectedPrice is that of what is not decided, a miss included.
func expectedPrice(at *Moment, c *Course) float64 { return c.USD + float64(at.Miss*c.Late(at.SLO)) }

// search looks for a plan, and leaves its loads.
func (c *SharedPlanner) search(at *Moment, step int, aim Aim, rounds int) {
	least := c.start(at, aim)
	for range rounds {
		from := least
		for _, s := range c.m.Flow.Order() {
			if at.Choice[s] >= 0 || at.State[s] == Skipped || at.State[s] == Done {
				continue
			}
			if s == step {
				for i := range c.menus[s] {
					least = c.try(at, aim, s, i, least)
				}
				continue
			}
			for by := 1; by < len(c.menus[s]); by *= 2 {
				pick := c.picks[s]
				least = c.try(at, aim, s, pick-by, least)
				least = c.try(at, aim, s, pick+by, least)
			}
		}
		if least == from {
			break
		}
	}
}

// try takes an option of a step if that is better than the least so far, and returns the least.
func (c *SharedPlanner) try(at *Moment, aim Aim, s, i int, least float64) float64 {
	if i < 0 || i >= len(c.menus[s]) || i == c.picks[s] {
		return least
	}
	c.loads[s] = c.menus[s][i].Load
	if x := c.value(at, aim); x < least {
		c.picks[s] = i
		return x
	}
	c.loads[s] = c.menus[s][c.picks[s]].Load
	return least
}

// Values of EnvConfig.Contention.
const (
	Hidden = "hidden"
	Seen   = "seen"
)

const ofCluster = "of the cluster"

// contention is what is seen of a cluster beside the rest, where the configuration says so.
type contention struct {
	planner SharedPlanner
	of      *Model // that the planner is of
	courses []Course
	least   float64 // expected price of the best course
	// Cores and MB of the cluster, those that nobody holds, and the cores that instances wait for.
	cores, mb, freeCores, freeMB, queued float64
	// Cores that the instances of the step hold or wait for, by step.
	held []float64
	row  contentionStep
}

// stepRow writes what is seen of a step.
func (c *contention) stepRow(s int, row []float32) {
	c.row = contentionStep{c, s}
	envs.WriteRow(contentionSteps, &c.row, row)
}

// look takes a game's moment in.
func (c *contention) look(g *Game) {
	m, at := g.Model(), &g.walk.at
	p := &m.Platform
	if c.of != m {
		c.planner.Begin(m)
		c.of = m
	}
	c.cores, c.mb, c.queued = float64(p.AllCores()), float64(p.Workers)*p.MemoryGB*1024, 0
	c.freeCores, c.freeMB = c.cores, c.mb
	c.held = append(c.held[:0], make([]float64, len(m.Steps))...)
	for i := range at.Runs {
		r := &at.Runs[i]
		c.freeCores -= float64(r.Started * r.Cores)
		c.freeMB -= float64(r.Started * r.MB)
		c.queued += float64(r.Queued * r.Cores)
		if r.Step >= 0 {
			c.held[r.Step] += float64((r.Started + r.Queued) * r.Cores)
		}
	}
	c.courses = c.planner.Courses(c.courses[:0], at, g.NextStep())
	c.least = expectedPrice(at, &c.courses[0])
	for i := range c.courses {
		c.least = min(c.least, expectedPrice(at, &c.courses[i]))
	}
}

var contentionRequest = []envs.Feature[contention]{
	envs.NewFeature("free cores", ofCluster, "cores that nobody holds", func(x *contention) float32 { return float32(x.freeCores / x.cores) }),
	envs.NewFeature("free memory", ofCluster, "memory that nobody holds", func(x *contention) float32 { return float32(x.freeMB / x.mb) }),
	envs.NewFeature("queue", "as x/(x+1) of the cluster", "cores that instances wait for",
		func(x *contention) float32 { return envs.Wide(x.queued / x.cores) }),
	envs.NewFeature("cores", asLog, "cores of the cluster", func(x *contention) float32 { return high(x.cores) }),
}

// contentionStep is what the features of a step are computed from.
type contentionStep struct {
	*contention
	s int
}

var contentionSteps = []envs.Feature[contentionStep]{
	envs.NewFeature("held", "as x/(x+1) of the cluster", "cores that its instances hold or wait for",
		func(x *contentionStep) float32 { return envs.Wide(x.held[x.s] / x.cores) }),
}

// contentionOption is what the features of an option are computed from.
type contentionOption struct {
	*contention
	at        *Moment
	course    *Course
	unit      float64 // USD
	cores, mb float64 // of all its instances
}

var contentionOptions = []envs.Feature[contentionOption]{
	envs.NewFeature("cores", ofCluster, "cores that its instances take", func(x *contentionOption) float32 { return float32(x.cores / x.contention.cores) }),
	envs.NewFeature("memory taken", ofCluster, "memory that they take", func(x *contentionOption) float32 { return float32(x.mb / x.contention.mb) }),
	envs.NewFeature("of free", "as x/(x+1)", "its cores over those that nobody holds or waits for, one at least",
		func(x *contentionOption) float32 { return envs.Wide(x.cores / max(x.freeCores-x.queued, 1)) }),
	envs.NewFeature("scheduled", asRatio, "expected price of the option, the rest and a miss by a schedule of all steps on the "+
		"cluster, above the least of all options, over the unit of price",
		func(x *contentionOption) float32 {
			return envs.Tight((expectedPrice(x.at, x.course) - x.least) / x.unit)
		}),
	envs.NewFeature("scheduled least", "", "1 where that is the least",
		func(x *contentionOption) float32 { return envs.Flag(expectedPrice(x.at, x.course) == x.least) }),
	envs.NewFeature("scheduled late", "probability", "that the request ends late, by that schedule",
		func(x *contentionOption) float32 { return float32(x.course.Late(x.at.SLO)) }),
	envs.NewFeature("scheduled spare", ofSLO, "time left in the mean at the end, by that schedule",
		func(x *contentionOption) float32 { return within((x.at.SLO - x.course.Seconds) / x.at.SLO) }),
	envs.NewFeature("scheduled price", byUnit, "price of the option and the rest, by that schedule",
		func(x *contentionOption) float32 { return envs.Wide(x.course.USD / x.unit) }),
}
