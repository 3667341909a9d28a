package frontier

import (
	"cmp"
	"context"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// solver combines fronts. It stops when its context is done.
type solver struct {
	ctx     context.Context
	problem *Problem
	// trim is the relative error that each combination of fronts may make; tie in exact fronts.
	trim float64
	// down makes fronts lower bounds, trim the relative error of each combination.
	down bool
	runs []float64 // expected runs of each function
}

// options returns the front of a function's options, for a weight of its time.
func (s *solver) options(function int, weight, constant float64) *stair {
	if s.runs == nil {
		s.runs = s.problem.Flow.FunctionExecutions()
	}
	out := &stair{function: function}
	for i, o := range s.problem.Options[function] {
		out.labels = append(out.labels, label{constant + float64(weight*o.Seconds), float64(s.runs[function] * o.USD), int32(i), 0})
	}
	out.labels = staircase(out.labels)
	return out
}

// front returns the front of a term whose functions are in no other term. Prices are those of its functions.
func (s *solver) front(t *term) (*stair, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	switch t.kind {
	case workflow.Single:
		return s.options(t.function, t.weight, t.constant), nil
	case workflow.Other:
		return s.search(t)
	}
	var fronts []*stair
	for _, group := range t.groups() {
		var f *stair
		var err error
		if len(group) == 1 {
			f, err = s.front(group[0])
		} else {
			f, err = s.search(&term{kind: t.kind, terms: group})
		}
		if err != nil {
			return nil, err
		}
		fronts = append(fronts, f)
	}
	// Small fronts first: most of their sums are dominated.
	slices.SortStableFunc(fronts, func(x, y *stair) int { return cmp.Compare(len(x.labels), len(y.labels)) })
	out := &stair{function: -1, labels: []label{{}}}
	for i, f := range fronts {
		switch {
		case i == 0:
			out = f
		case t.kind == workflow.Parallel:
			out = s.longer(out, f)
		default:
			out = s.sum(out, f)
		}
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out.later(t.constant), nil
}

// later returns the front with its times moved.
func (s *stair) later(seconds float64) *stair {
	if seconds == 0 {
		return s
	}
	out := *s
	out.labels = slices.Clone(s.labels)
	for i := range out.labels {
		out.labels[i].t += seconds
	}
	return &out
}
