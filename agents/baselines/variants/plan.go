package variants

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/variants"
)

// Answer is what a search found.
type Answer struct {
	variants.Plan
	// Steps counts the ways that the search looked at: what the papers call iterations.
	Steps int `json:"steps"`
	// Strategy is the one that found it.
	Strategy Strategy `json:"strategy"`
}

// ErrMissed is the error of a search that ended without a configuration that keeps the constraints. There may be one.
var ErrMissed = errors.New("the search found no configuration that keeps the constraints")

// PRCP plans by the probability-refined critical path with o.Strategy. Its published form knows no variants: where an
// accuracy is asked for, they are chosen first as in OptiServe.
func PRCP(m *variants.Model, p variants.Problem, o Options) (variants.Plan, error) {
	a, err := NewPlanner(m).Solve(p, o)
	return a.Plan, err
}

// BCRMax plans by OptiServe with the benefit-cost ratio of eq. 4.8.
func BCRMax(m *variants.Model, p variants.Problem, o Options) (variants.Plan, error) {
	o.Strategy = Max
	return PRCP(m, p, o)
}

// BCRSlope plans by OptiServe with the slope of eq. 4.9.
func BCRSlope(m *variants.Model, p variants.Problem, o Options) (variants.Plan, error) {
	o.Strategy = Slope
	return PRCP(m, p, o)
}

// Solve plans for a problem. Where the answer does not keep the constraints, the error is [ErrMissed] and the answer is
// what the search ended with. A problem whose Latency binds a percentile is planned with the mean in its place: the
// heuristics know no other.
func (l *Planner) Solve(p variants.Problem, o Options) (Answer, error) {
	if err := o.Validate(); err != nil {
		return Answer{}, fmt.Errorf("variants: %w", err)
	}
	if err := p.Validate(); err != nil {
		return Answer{}, fmt.Errorf("variants: %w", err)
	}
	l.p, l.o = p, o
	if o.Strategy != Best {
		a := l.search(o.Strategy)
		return l.finish(a)
	}
	var best Answer
	for i, s := range [...]Strategy{Disabled, Slope, Last, Max} {
		a := l.search(s)
		if i == 0 || l.better(a.Outcome, best.Outcome) {
			copy(l.best, a.Choice)
			best = a
		}
	}
	best.Choice = l.best
	return l.finish(best)
}

// better prefers what keeps the constraints, then the objective.
func (l *Planner) better(a, b variants.Outcome) bool {
	if x, y := l.p.Keeps(a), l.p.Keeps(b); x != y {
		return x
	}
	return l.p.Better(a, b)
}

func (l *Planner) finish(a Answer) (Answer, error) {
	a.Choice = slices.Clone(a.Choice)
	if !l.p.Keeps(a.Outcome) {
		return a, ErrMissed
	}
	return a, nil
}

// search runs one strategy.
func (l *Planner) search(strategy Strategy) Answer {
	l.steps = 0
	switch l.p.Objective {
	case variants.Time:
		l.start(false)
		l.upgrade(false)
		l.sizes(strategy, false)
	case variants.Cost:
		l.start(true)
		l.upgrade(true)
		l.sizes(strategy, true)
	default:
		l.start(true)
		l.sizes(strategy, true)
		l.steps = 0
		l.raise()
	}
	return Answer{Plan: variants.Plan{Choice: l.choice, Outcome: l.now}, Steps: l.steps, Strategy: strategy}
}
