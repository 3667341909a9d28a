package eval

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/table"
)

// Criteria are what the verdict on a policy is made by: the constraint has to be kept at least as well, then the
// objective has to be better.
type Criteria struct {
	// Constraint is nil where there is none.
	Constraint *Metric
	Objective  Metric
	// Tolerance is by how much less well a constraint may be kept, see [Criteria.margin].
	Tolerance float64
}

// NoConstraint in place of a constraint's name says that there is none.
const NoConstraint = "none"

// NewCriteria resolves the names of a constraint and an objective. An empty name is what the environment names:
// without that there is no constraint, and the objective is the return.
func NewCriteria(spec *envs.Spec, constraint, objective string, tolerance float64) (Criteria, error) {
	c := Criteria{Tolerance: tolerance}
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
	add := func(m Metric) {
		if !slices.ContainsFunc(metrics, func(o Metric) bool { return o.Name == m.Name }) {
			metrics = append(metrics, m)
		}
	}
	if c.Objective.Name != "" {
		add(c.Objective)
	}
	if c.Constraint != nil {
		add(*c.Constraint)
	}
	return metrics
}

// margin is the tolerance in the constraint's unit, against a policy whose mean is given: a part of the distance of both
// bounds, else a part of that mean.
func (c Criteria) margin(mean float64) float64 {
	low, high := c.Constraint.Bounds.Limits()
	if width := high - low; table.Finite(width) {
		return c.Tolerance * width
	}
	return c.Tolerance * max(mean, -mean)
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
	return good, bad, table.Finite(bad - good)
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
