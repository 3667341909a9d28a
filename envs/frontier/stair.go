package frontier

import (
	"cmp"
	"context"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// tie is the relative difference below which two times or prices count as equal. Sums of the same numbers in another
// order differ by rounding only; without it equal configurations of like functions would fill the fronts.
const tie = 1e-12

// label is a point of a front, and the points of other fronts from which it follows.
type label struct {
	t, c float64
	a, b int32
}

// stair is a front: labels with times rising and prices falling. What a and b of its labels mean depends on how it
// was made.
type stair struct {
	labels []label
	// function is the function whose options a names; -1 if there is none.
	function int
	// left and right are the fronts whose points a and b name; nil if there are none.
	left, right *stair
	// rows are configurations of the fronts vars, by a.
	rows [][]int32
	vars []*stair
}

// choose writes the choice of each function at a point.
func (s *stair) choose(choice []int, i int) {
	l := s.labels[i]
	switch {
	case s.function >= 0:
		choice[s.function] = int(l.a)
	case s.rows != nil:
		for v, row := range s.rows[l.a] {
			s.vars[v].choose(choice, int(row))
		}
	default:
		if s.left != nil {
			s.left.choose(choice, int(l.a))
		}
		if s.right != nil {
			s.right.choose(choice, int(l.b))
		}
	}
}

// push appends a label whose time is at least the last one's, unless it is dominated. Times that are equal but for
// rounding count as equal; anchor is the first time of such a group.
func push(to []label, l label, anchor *float64) []label {
	if n := len(to); n > 0 {
		if l.c >= to[n-1].c*(1-tie) {
			return to
		}
		if l.t <= *anchor*(1+tie) {
			to[n-1] = l
			return to
		}
	}
	*anchor = l.t
	return append(to, l)
}

// staircase sorts labels and drops the dominated ones, in place.
func staircase(labels []label) []label {
	slices.SortFunc(labels, func(x, y label) int {
		return cmp.Or(cmp.Compare(x.t, y.t), cmp.Compare(x.c, y.c), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	out, anchor := labels[:0], 0.0
	for _, l := range labels {
		out = push(out, l, &anchor)
	}
	return out
}

// merge appends the undominated labels of two staircases, y moved by a time and a price.
func merge(dst, x, y []label) []label {
	anchor := 0.0
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		if x[i].t < y[j].t || x[i].t == y[j].t && x[i].c <= y[j].c {
			dst = push(dst, x[i], &anchor)
			i++
		} else {
			dst = push(dst, y[j], &anchor)
			j++
		}
	}
	for ; i < len(x); i++ {
		dst = push(dst, x[i], &anchor)
	}
	for ; j < len(y); j++ {
		dst = push(dst, y[j], &anchor)
	}
	return dst
}

// sum returns the undominated sums of two fronts: copies of the longer one, moved by each point of the shorter one, are
// merged in pairs. This takes |x||y| log min(|x|, |y|) steps at most.
func (s *solver) sum(x, y *stair) *stair {
	out := &stair{function: -1, left: x, right: y}
	long, short, swapped := x.labels, y.labels, false
	if len(long) < len(short) {
		long, short, swapped = short, long, true
	}
	moved := func(k int) []label {
		m := make([]label, len(long))
		for i, l := range long {
			m[i] = label{l.t + short[k].t, l.c + short[k].c, int32(i), int32(k)}
			if swapped {
				m[i].a, m[i].b = m[i].b, m[i].a
			}
		}
		return m
	}
	var combine func(from, to int) []label
	combine = func(from, to int) []label {
		if s.ctx.Err() != nil {
			return nil
		}
		if to-from == 1 {
			return moved(from)
		}
		mid := (from + to) / 2
		a, b := combine(from, mid), combine(mid, to)
		return merge(make([]label, 0, len(a)+len(b)), a, b)
	}
	out.labels = s.thin(combine(0, len(short)))
	return out
}

// longer returns the undominated maxima of two fronts: by each time the cheapest points of both that are done. This
// takes |x|+|y| steps.
func (s *solver) longer(x, y *stair) *stair {
	out := &stair{function: -1, left: x, right: y}
	i, j := 0, 0
	anchor := 0.0
	labels := make([]label, 0, len(x.labels)+len(y.labels))
	for {
		a, b := x.labels[i], y.labels[j]
		labels = push(labels, label{max(a.t, b.t), a.c + b.c, int32(i), int32(j)}, &anchor)
		// The next time is that of the earlier of the two that follow; what comes before the other's present time is free.
		switch moreA, moreB := i+1 < len(x.labels), j+1 < len(y.labels); {
		case moreA && (!moreB || x.labels[i+1].t <= y.labels[j+1].t):
			i++
		case moreB:
			j++
		default:
			out.labels = s.thin(labels)
			return out
		}
	}
}

// thin keeps a subset of a front such that each point that is dropped has one that is kept within a factor 1+trim in
// time and price. In a solver for bounds it replaces neighbours by what is as fast as the first and as cheap as the last.
func (s *solver) thin(labels []label) []label {
	if s.trim <= tie || len(labels) < 3 {
		return labels
	}
	if s.down {
		return coarse(labels, 1+s.trim)
	}
	factor := 1 + s.trim
	out := labels[:0]
	for i := 0; i < len(labels); {
		// The last point that covers point i in time; it covers all between in price.
		k, limit := i, labels[i].t*factor
		for k+1 < len(labels) && labels[k+1].t <= limit {
			k++
		}
		keep := labels[k]
		for i = k + 1; i < len(labels) && keep.c <= labels[i].c*factor; i++ {
			continue
		}
		out = append(out, keep)
	}
	return out
}

// coarse joins neighbours whose times or prices differ by less than a factor into a point that none of them is below.
func coarse(labels []label, factor float64) []label {
	out := labels[:0]
	for i := 0; i < len(labels); {
		first := labels[i]
		limit := first.t * factor
		least := first.c / factor
		for i++; i < len(labels) && (labels[i].t <= limit || labels[i].c >= least); i++ {
			first.c = labels[i].c
		}
		out = append(out, first)
	}
	return out
}

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
