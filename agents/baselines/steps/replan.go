package steps

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
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
}

// DefaultReplan plans by the 90th percentile of the time that is left.
func DefaultReplan() ReplanConfig { return ReplanConfig{Quantile: 0.9, Risk: Pooled} }

// Replan follows the cheapest plan for all that is left, and plans anew before every step, with the clock. On a chain the
// exact front of each suffix is made once for a workflow. On other graphs the front of the whole workflow is: before a
// step, the cheapest plan is read whose rest ends within the limit from where the request is, the steps that run included;
// the step itself then takes the cheapest option that leaves the plan's other steps their time.
//
// Where nothing keeps the limit, the fastest plan is followed, and once the limit has passed, the cheapest.
type Replan struct {
	config ReplanConfig
	tables tables[*fronts]
	*fronts
	model  *steps.Model
	slo    float64
	chosen []int // places in the menus
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
	if !f.chain() {
		f.family = newFamily(m, f.graph, f.menus, points)
		return f
	}
	f.readings = make([]reading, len(points))
	var behind []point
	for k := len(f.order) - 1; k >= 0; k-- {
		v := f.order[k]
		behind = suffix(points[v], behind)
		f.readings[v] = newReading(behind)
	}
	return f
}

// Begin implements [steps.Decider].
func (r *Replan) Begin(m *steps.Model, slo, _ float64) {
	r.fronts, r.model, r.slo = r.tables.of(m), m, slo
	r.chosen = resized(r.chosen, len(r.menus))
	for v := range r.chosen {
		r.chosen[v] = -1
	}
}

// Decide implements [steps.Decider].
func (r *Replan) Decide(at *steps.Moment, step int) int {
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
	if anyWarm(at, step) && left > 0 {
		i = l.warmed(r.platform, at, step, l[i].seconds*(1+1e-9)) // in the time that the plan gives the step
	}
	r.chosen[step] = i
	return l[i].code
}
