package steps

import "github.com/stoker-rl/stoker/envs"

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
