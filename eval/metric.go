package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Number is a number that may be missing: JSON cannot write NaN or an infinity, so it becomes null.
type Number = report.Number

// Metric is one quantity compared.
type Metric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Better is lower or higher; empty where neither direction is, and nothing is ever decided.
	Better envs.Better `json:"better"`
	Doc    string      `json:"doc"`
	// Bounds are the least and the greatest possible value: no interval leaves them.
	Bounds envs.Bounds `json:"bounds"`
	// AssumesService says that values mean nothing where no policy serves the load.
	AssumesService bool `json:"assumes_service,omitempty"`
}

// ReturnMetric is the episode's return, compared beside the environment's own quantities.
var ReturnMetric = Metric{Name: "return", Unit: "1", Better: envs.Higher,
	Doc: "sum over steps of the mean reward of the agents"}

// Metrics returns the metrics of the given names, or all quantities that have a better direction, and the return.
func Metrics(spec *envs.Spec, names []string) ([]Metric, error) {
	known := lists.From(spec.Info, func(q envs.Quantity) Metric {
		return Metric{q.Name, q.Unit, q.Better, q.Doc, q.Bounds, q.AssumesService}
	})
	own := ReturnMetric
	own.AssumesService = spec.Constraint != "" // rewards sum up prices and returns of requests then
	known = append(known, own)
	if len(names) == 0 {
		return slices.DeleteFunc(known, func(m Metric) bool { return m.Better == envs.Neither }), nil
	}
	var out []Metric
	for _, n := range names {
		i := slices.IndexFunc(known, func(m Metric) bool { return m.Name == n })
		if i < 0 {
			near := configs.Nearest(n, namesOf(known))
			if near != "" {
				near = "; did you mean " + near + "?"
			}
			return nil, fmt.Errorf("metric %q: %s reports %s%s", n, spec.ID, strings.Join(namesOf(known), ", "), near)
		}
		if slices.Contains(out, known[i]) {
			return nil, fmt.Errorf("metric %q is named twice", n)
		}
		out = append(out, known[i])
	}
	return out, nil
}

// namesOf are the names of metrics.
func namesOf(metrics []Metric) []string {
	return lists.From(metrics, func(m Metric) string { return m.Name })
}

// added are metrics with one that was missing.
func added(metrics []Metric, m Metric) []Metric {
	if slices.Contains(namesOf(metrics), m.Name) {
		return metrics
	}
	return append(metrics, m)
}

// Plots names the quantities that figures show.
type Plots struct {
	// Scatter is x and y of the figure of policies as points; Series are drawn over time, a panel each.
	Scatter []Metric `json:"scatter"`
	Series  []Metric `json:"series"`
	// Levels are drawn as lines: what is known beforehand of quantities.
	Levels []envs.Level `json:"levels,omitempty"`
}

// NewPlots resolves the quantities that figures show.
func NewPlots(spec *envs.Spec, scatter, series []string) (Plots, error) {
	p := Plots{Levels: spec.Levels}
	if len(scatter) != 0 && len(scatter) != 2 {
		return p, fmt.Errorf("eval.scatter names %d quantities, want two: x and y", len(scatter))
	}
	var err error
	if len(scatter) > 0 {
		if p.Scatter, err = Metrics(spec, scatter); err != nil {
			return p, fmt.Errorf("eval.scatter: %w", err)
		}
	}
	if len(series) > 0 {
		if p.Series, err = Metrics(spec, series); err != nil {
			return p, fmt.Errorf("eval.series: %w", err)
		}
	}
	return p, nil
}

// Scores are a contestant's values of a metric. A metric that its environment does not report is an error.
func (p *Played) Scores(contestant int, m Metric) (stats.Scores, error) {
	at := -1
	if m.Name != ReturnMetric.Name {
		var err error
		if at, err = p.infoIndex(contestant, m.Name); err != nil {
			return nil, err
		}
	}
	out := make(stats.Scores, len(p.Episodes[contestant]))
	for v, eps := range p.Episodes[contestant] {
		for _, e := range eps {
			x := e.Return
			if at >= 0 {
				x = e.Info[at]
			}
			out[v] = append(out[v], x)
		}
	}
	return out, nil
}

// Sample is [Played.Scores] with a column for each trace that was drawn, the mean of its episodes, where episodes draw
// recorded traces: twenty episodes from one trace tell of one trace.
func (p *Played) Sample(contestant int, m Metric) (stats.Scores, error) {
	all, err := p.Scores(contestant, m)
	if err != nil || len(p.Traces) == 0 {
		return all, err
	}
	return byTrace(all, p.TraceOf, len(p.Traces)), nil
}

// byTrace has a column for each trace that was drawn, the mean of its episodes; of is the trace of each episode.
func byTrace(all stats.Scores, of []int, traces int) stats.Scores {
	n := perTrace(of, traces)
	out := make(stats.Scores, len(all))
	for v, row := range all {
		sums := make([]float64, traces)
		for s, x := range row {
			sums[of[s]] += x
		}
		for t, sum := range sums {
			if n[t] > 0 {
				out[v] = append(out[v], sum/float64(n[t]))
			}
		}
	}
	return out
}

// perTrace counts the episodes of every trace.
func perTrace(of []int, traces int) []int {
	out := make([]int, traces)
	for _, t := range of {
		out[t]++
	}
	return out
}

// drew is the number of traces that were drawn, 0 where episodes draw none.
func (p *Played) drew() int {
	return len(slices.DeleteFunc(perTrace(p.TraceOf, len(p.Traces)), func(episodes int) bool { return episodes == 0 }))
}

// Series are a contestant's values of a quantity at every step, [seed][step], of its first version under the traced
// seeds.
func (p *Played) Series(contestant int, quantity string) ([][]float64, error) {
	at, err := p.infoIndex(contestant, quantity)
	if err != nil {
		return nil, err
	}
	if len(p.Steps[contestant]) == 0 {
		return nil, fmt.Errorf("%s: %s by step: no step was traced; set Request.Traced",
			p.Contestants[contestant].Name, quantity)
	}
	var (
		out   [][]float64
		seeds []uint64
	)
	for _, s := range p.Steps[contestant] {
		if len(seeds) == 0 || seeds[len(seeds)-1] != s.Seed {
			seeds, out = append(seeds, s.Seed), append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], s.Info[at])
	}
	return out, nil
}

// infoIndex is the place of a quantity in what a contestant's environment reports.
func (p *Played) infoIndex(contestant int, quantity string) (int, error) {
	if contestant < 0 || contestant >= len(p.Contestants) {
		return 0, fmt.Errorf("contestant %d of %d", contestant, len(p.Contestants))
	}
	spec := p.Spec
	if p.Contestants[contestant].NewEnv != nil {
		spec = p.specs[contestant]
	}
	at, err := spec.InfoIndex(quantity)
	if err != nil {
		return 0, fmt.Errorf("%s: %s: %w", p.Contestants[contestant].Name, quantity, err)
	}
	return at, nil
}

// Criteria are what the verdict on a policy is made by: the constraint has to be kept at least as well, then the
// objective has to be better.
type Criteria struct {
	// Constraint is nil where there is none.
	Constraint *Metric
	Objective  Metric
	// RelativeTolerance is by how much less well a constraint may be kept, see [Criteria.margin].
	RelativeTolerance float64
}

// NoConstraint in place of a constraint's name says that there is none.
const NoConstraint = "none"

// NewCriteria resolves the names of a constraint and an objective. An empty name is what the environment names:
// without that there is no constraint, and the objective is the return.
func NewCriteria(spec *envs.Spec, constraint, objective string, tolerance float64) (Criteria, error) {
	c := Criteria{RelativeTolerance: tolerance}
	if constraint == "" {
		constraint = spec.Constraint
	}
	if objective == "" {
		objective = spec.Objective
	}
	if objective == "" {
		objective = ReturnMetric.Name
	}
	find := func(key, name string) (Metric, error) {
		m, err := Metrics(spec, []string{name})
		switch {
		case err != nil:
			return Metric{}, fmt.Errorf("eval.%s: %w", key, err)
		case m[0].Better == envs.Neither:
			return Metric{}, fmt.Errorf("eval.%s: %s has no better direction, want a quantity that is better lower or higher",
				key, name)
		}
		return m[0], nil
	}
	var err error
	if c.Objective, err = find("objective", objective); err != nil {
		return c, err
	}
	if constraint == "" || constraint == NoConstraint {
		return c, nil
	}
	m, err := find("constraint", constraint)
	if err != nil {
		return c, err
	}
	if m.Name == c.Objective.Name {
		return c, fmt.Errorf("eval.constraint and eval.objective are both %s, want two quantities, or constraint: %s", m.Name,
			NoConstraint)
	}
	c.Constraint = &m
	return c, nil
}

// with returns the metrics with those that verdicts are made by, added where they are missing.
func (c Criteria) with(metrics []Metric) []Metric {
	if c.Objective.Name != "" {
		metrics = added(metrics, c.Objective)
	}
	if c.Constraint != nil {
		metrics = added(metrics, *c.Constraint)
	}
	return metrics
}

// margin is the tolerance in the constraint's unit, against a policy whose mean is given: a part of that mean's distance
// from the best possible value, of the violated share itself. Where the best has no bound it is a part of the mean.
func (c Criteria) margin(mean float64) float64 {
	best, high := c.Constraint.Bounds.Limits()
	if c.Constraint.Better == envs.Higher {
		best = high
	}
	if !report.Finite(best) {
		best = 0
	}
	return c.RelativeTolerance * math.Abs(mean-best)
}

// infeasibleFrom is the part of the way from the best to the worst possible value of a constraint from which a policy
// counts as one that does not serve the load.
const infeasibleFrom = 0.8

// ends are the best and the worst possible value of the constraint; ok is false where there is no constraint or one
// without two bounds.
func (c Criteria) ends() (good, bad float64, ok bool) {
	if c.Constraint == nil {
		return 0, 0, false
	}
	good, bad = c.Constraint.Bounds.Limits()
	if c.Constraint.Better == envs.Higher {
		good, bad = bad, good
	}
	return good, bad, report.Finite(bad - good)
}

// way is how far a policy's mean is on the way from the constraint's best value to its worst, from 0 to 1; 0 where
// there is nothing to tell it by.
func (c Criteria) way(p PolicyResult) float64 {
	good, bad, ok := c.ends()
	if !ok {
		return 0
	}
	return (float64(p.Metrics[c.Constraint.Name].Mean) - good) / (bad - good)
}

// fails reports whether a policy violates the constraint so often that it does not serve the load.
func (c Criteria) fails(p PolicyResult) bool { return c.way(p) >= infeasibleFrom }

// infeasible returns the least violating policy where even that one does not serve the load, else nil.
func (c Criteria) infeasible(policies []PolicyResult) *Unserved {
	if len(policies) == 0 {
		return nil
	}
	best := policies[0]
	for _, p := range policies[1:] {
		if c.way(p) < c.way(best) {
			best = p
		}
	}
	if !c.fails(best) {
		return nil
	}
	good, bad, _ := c.ends()
	return &Unserved{Constraint: c.Constraint.Name, Best: best.Name, Value: best.Metrics[c.Constraint.Name].Mean,
		From: Number(good + infeasibleFrom*(bad-good))}
}

// Unserved says that no policy of an evaluation serves the load.
type Unserved struct {
	Constraint string `json:"constraint"`
	// Best is the policy that keeps the constraint best, Value its mean.
	Best  string `json:"best"`
	Value Number `json:"value"`
	// From is the value from which a load counts as infeasible.
	From Number `json:"from"`
}
