package steps

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/steps"
)

// static plays a plan that is made before the first step and is never revised.
type static struct {
	plan   func(m *steps.Model, slo float64, choice []int)
	choice []int
	model  *steps.Model // that it was made for last
	slo    float64
}

// Begin implements [steps.Decider].
func (s *static) Begin(m *steps.Model, slo, _ float64) {
	if m == s.model && slo == s.slo {
		return
	}
	s.model, s.slo = m, slo
	s.choice = resized(s.choice, m.NumSteps())
	s.plan(m, slo, s.choice)
}

// Decide implements [steps.Decider].
func (s *static) Decide(_ *steps.Moment, step int) int { return s.choice[step] }

// VanillaConfig configures [NewVanilla].
type VanillaConfig struct {
	// Quantile is that of the predicted times.
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
	// Instances is the number of instances of every step, which the paper does not say.
	Instances int `yaml:"instances" json:"instances" range:"[1,1000]"`
}

// DefaultVanilla has 16 instances a step.
func DefaultVanilla() VanillaConfig { return VanillaConfig{Quantile: 0.9, Instances: 16} }

// NewVanilla returns the critical path method: before the first step, the limit is shared among the steps of the critical
// path by their times in a configuration of one core, and each step takes the cheapest memory below its share; side
// branches are treated the same way. One process an instance and a fixed number of instances. Where no memory is fast
// enough it takes the fastest.
func NewVanilla(c VanillaConfig) (steps.Decider, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	config := StepConfConfig{Quantile: c.Quantile, Joins: Before, Instances: c.Instances, Processes: 1}
	s := &StepConf{config: config}
	s.tables.make = func(m *steps.Model) *critical { return newCritical(m, &config, oneCore) }
	return &static{plan: func(m *steps.Model, slo float64, choice []int) {
		s.Begin(m, slo, 0)
		s.onSchedule(choice)
	}}, nil
}

// oneCore returns a step's time with the first memory size that has a core.
func oneCore(m *steps.Model, step int, l menu) float64 {
	best := l.fastest()
	for _, o := range l {
		if float64(o.option.MB) >= 0.95*m.Platform.SingleCore && o.option.MB < best.option.MB {
			best = o
		}
	}
	return best.seconds
}

// onSchedule decides all steps, where each begins when the sub-SLOs of those before it have passed.
func (s *StepConf) onSchedule(choice []int) {
	ends := resized(s.ends, len(choice))
	s.ends = ends
	for _, v := range s.order {
		begin := 0.0
		for _, u := range s.prev[v] {
			begin = max(begin, ends[u])
		}
		choice[v] = s.menus[v].within(s.divide(v, begin)).code
		ends[v] = s.due
	}
}

// OracleConfig configures [NewOracle].
type OracleConfig struct {
	// Quantile is that of the predicted times.
	Quantile float64 `yaml:"quantile" json:"quantile" range:"(0,1)"`
}

// DefaultOracle plans by 90th percentiles.
func DefaultOracle() OracleConfig { return OracleConfig{Quantile: 0.9} }

// NewOracle returns the cheapest plan of which every path ends within the limit by the predicted times: exact where paths
// cross, else from the workflow's front thinned to 0.1 %. It is made before the first step. Where there is none, every
// step takes its fastest option.
func NewOracle(c OracleConfig) (steps.Decider, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	fronts := tables[*plans]{make: func(m *steps.Model) *plans { return newPlans(m, menusAt(m, c.Quantile), 1e-3) }}
	return &static{plan: func(m *steps.Model, slo float64, choice []int) {
		t := fronts.of(m)
		p, ok := t.cheapest(slo)
		for v, l := range t.menus {
			choice[v] = l.fastest().code
			if ok {
				choice[v] = l[p.Choice[v]].code
			}
		}
	}}, nil
}
