package variants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/heap"
)

// Distribution returns the distribution of the response time of a choice, for requests that find warm instances: runs are
// independent, each lognormal with its option's mean and coefficient of variation, and loops repeat as often as they
// happen to. The grid's zero value is one that suits.
func (m *Model) Distribution(choice []int, grid workflow.Grid) (workflow.Distribution, error) {
	laws := make([]workflow.Law, m.Flow.NumNodes())
	for n := range laws {
		f := m.Flow.Function(n)
		laws[n] = m.Options[f][choice[f]].law()
	}
	d, err := m.Flow.Distribution(laws, m.Delays, grid)
	if err != nil {
		err = fmt.Errorf("%s: percentiles: %s", m.App.Name, strings.TrimPrefix(err.Error(), "workflow: "))
	}
	return d, err
}

// law is that of a run's time.
func (o Option) law() workflow.Law {
	if o.CV == 0 {
		return bill.Always(o.Seconds)
	}
	return bill.Lognormal{M: o.Seconds, CV: o.CV}
}

// Optimal reports whether the plan is the optimum of its problem, up to the error of the percentiles.
func (t *Tail) Optimal(p Problem) bool {
	value := p.Value(t.Outcome)
	switch p.Objective {
	case Accuracy:
		return t.Proved <= value*(1+slack)
	case Time:
		value = t.Quantile
	}
	return value <= t.Proved*(1+1e-3)
}

// searchPoints is the number of points of the grids of a search, finalGrid is the grid of the answer's distribution.
const searchPoints = 2048

var finalGrid = workflow.Grid{Points: 4096}

// quantiles computes a percentile of the response time for many choices. Times up to a horizon are on one grid.
type quantiles struct {
	m     *Model
	p     float64
	laws  [][]workflow.Law
	nodes []int // option of each node's function
	by    map[float64]*workflow.Quantiles
}

func (m *Model) quantiles(p float64) *quantiles {
	q := &quantiles{m: m, p: p, nodes: make([]int, m.Flow.NumNodes()), by: map[float64]*workflow.Quantiles{}}
	for n := range q.nodes {
		var laws []workflow.Law
		for _, o := range m.Options[m.Flow.Function(n)] {
			laws = append(laws, o.law())
		}
		q.laws = append(q.laws, laws)
	}
	return q
}

// of returns the percentile of a choice, infinity where it is beyond the horizon.
func (q *quantiles) of(choice []int, horizon float64) (float64, error) {
	c := q.by[horizon]
	if c == nil {
		var err error
		if c, err = q.m.Flow.Quantiles(q.laws, q.m.Delays, horizon, searchPoints); err != nil {
			return 0, fmt.Errorf("%s: percentiles: %s", q.m.App.Name, strings.TrimPrefix(err.Error(), "workflow: "))
		}
		q.by[horizon] = c
	}
	for n := range q.nodes {
		q.nodes[n] = choice[q.m.Flow.Function(n)]
	}
	return c.Of(q.nodes, q.p), nil
}

// any returns the percentile of a choice of which only the mean is known: the horizon is the power of two that suits.
func (q *quantiles) any(choice []int, mean float64) (float64, error) {
	for k := math.Ceil(math.Log2(1.5 * mean)); k < 60; k++ {
		if out, err := q.of(choice, math.Exp2(k)); err != nil || !math.IsInf(out, 1) {
			return out, err
		}
	}
	return math.Inf(1), nil
}

// Tail is the answer to a problem whose Latency binds a percentile.
type Tail struct {
	Plan
	// Quantile is the percentile of the response time in seconds; the true one is between Low and High
	// ([workflow.Distribution.Bounds]).
	Quantile, Low, High float64
	// Proved is a value of the objective that no configuration is better than. Where it is the plan's, the plan is the
	// optimum; where the search ended at its limit, it is not.
	Proved float64
	// Evaluated is the number of distributions that were computed.
	Evaluated int
}

// The distributions of one search are at most mostDistributions, and fewer where each has more than 20 joints to compute, but
// for leastDistributions: some seconds.
const leastDistributions, mostDistributions = 600, 20_000

// errLimit ends a search.
var errLimit = errors.New("the limit of a search")

// SolveTail answers a problem whose Latency binds a percentile, or with the objective [Time] is to make a percentile
// least. Faster options make every percentile smaller, and dearer, as long as a function's variant is the same; so for each
// combination of variants the search is a branch and bound over boxes of options ([tailSearch.least]). It is exact up to
// the error of the distributions, unless it ends at its limit: then [Tail.Proved] says how much better an answer could be.
//
// Where the context is done, it ends as at its limit. Watch, where it is not nil, is told the distributions computed and their limit.
func (m *Model) SolveTail(ctx context.Context, p Problem, watch func(done, most int)) (Tail, error) {
	if err := p.Validate(); err != nil {
		return Tail{}, err
	}
	l, err := m.levels()
	if err != nil {
		return Tail{}, err
	}
	s := &tailSearch{ctx: ctx, m: m, p: p, seen: map[string]float64{}, quantiles: m.quantiles(p.Percentile / 100),
		scratch: m.NewScratch(), watch: watch}
	s.limit = max(leastDistributions, min(mostDistributions, 20*mostDistributions/m.Flow.Joints()))
	switch p.Objective {
	case Accuracy:
		err = s.mostAccurate(l)
	default:
		err = s.over(l, s.combinations(l, p.Accuracy, math.Inf(1)))
	}
	if err != nil && !errors.Is(err, errLimit) {
		return Tail{}, err
	}
	if s.best.Choice == nil {
		if err := ctx.Err(); err != nil {
			return Tail{}, err
		}
		if err != nil {
			return Tail{}, fmt.Errorf("%s: no configuration was found in %d distributions that has %s: ask with a looser bound", m.App.Name,
				s.evaluated, p)
		}
		return Tail{}, s.infeasible(l)
	}
	d, err := m.Distribution(s.best.Choice, finalGrid)
	if err != nil {
		return Tail{}, err
	}
	out := Tail{Plan: s.best, Quantile: d.Quantile(p.Percentile / 100), Evaluated: s.evaluated, Proved: s.proved}
	out.Low, out.High = d.Bounds(p.Percentile / 100)
	return out, nil
}

// tailSearch is the state of SolveTail.
type tailSearch struct {
	ctx       context.Context
	m         *Model
	p         Problem
	seen      map[string]float64 // percentiles by choice
	quantiles *quantiles
	scratch   *Scratch
	watch     func(done, most int)
	limit     int
	evaluated int
	best      Plan
	value     float64 // of best: USD per million executions, or the percentile
	proved    float64
}

// quantile returns the percentile of a choice.
func (s *tailSearch) quantile(choice []int) (float64, error) {
	key := fmt.Sprint(choice)
	if q, ok := s.seen[key]; ok {
		return q, nil
	}
	if s.evaluated == s.limit || s.ctx.Err() != nil {
		return 0, errLimit
	}
	if s.evaluated++; s.watch != nil {
		s.watch(s.evaluated, s.limit)
	}
	var q float64
	var err error
	if s.p.Objective != Time && s.p.Latency > 0 { // whether a percentile is within the bound is all that is asked
		q, err = s.quantiles.of(choice, 1.25*s.p.Latency)
	} else {
		q, err = s.quantiles.any(choice, s.m.seconds(s.scratch, choice))
	}
	s.seen[key] = q
	return q, err
}

// combinations returns the ranks of all combinations of variants whose score is in [low, high].
func (s *tailSearch) combinations(l *levels, low, high float64) [][]int {
	var out [][]int
	for i, score := range l.scores {
		if score >= low*(1-slack) && score <= high*(1+slack) {
			ranks := make([]int, len(l.order))
			l.unrank(i, ranks)
			out = append(out, ranks)
		}
	}
	return out
}

// over searches some combinations, the one that can be cheapest or fastest first.
func (s *tailSearch) over(l *levels, combinations [][]int) error {
	boxes := make([]*box, 0, len(combinations))
	for _, c := range combinations {
		b := s.box(l, c)
		var err error
		if b.bound, err = b.objective(b.corner(0)); err != nil {
			return err
		}
		boxes = append(boxes, b)
	}
	slices.SortStableFunc(boxes, func(a, b *box) int { return cmp.Compare(a.bound, b.bound) })
	s.proved = math.Inf(1)
	for i, b := range boxes {
		if s.best.Choice != nil && b.bound >= s.value {
			break
		}
		bound, err := s.least(b)
		s.proved = min(s.proved, bound)
		if err != nil {
			for _, b := range boxes[i+1:] {
				s.proved = min(s.proved, b.bound)
			}
			return err
		}
	}
	s.proved = min(s.proved, s.value)
	return nil
}

// try makes a choice the best plan if it keeps the constraints and is better.
func (s *tailSearch) try(choice []int) error {
	o := s.m.Evaluate(choice)
	if !within(o.USD, s.p.Budget) || s.p.Objective != Time && s.best.Choice != nil && o.USD >= s.value {
		return nil
	}
	value := o.USD
	if s.p.Objective == Time || s.p.Latency > 0 {
		q, err := s.quantile(choice)
		if err != nil {
			return err
		}
		if !within(q, s.p.Latency) {
			return nil
		}
		if s.p.Objective == Time {
			value = q
		}
	}
	if s.best.Choice == nil || value < s.value {
		s.best, s.value = Plan{slices.Clone(choice), o}, value
	}
	return nil
}

// mostAccurate finds the greatest accuracy at which the bounds can be kept, from the top.
func (s *tailSearch) mostAccurate(l *levels) error {
	wanted := s.p.Accuracy
	budget := s.p
	budget.Objective, budget.Percentile, budget.Latency = Cost, 0, 0
	s.p.Objective = Cost
	defer func() { s.p.Objective = Accuracy }()
	for _, level := range slices.Backward(l.values) {
		if level < wanted*(1-slack) {
			return nil
		}
		err := s.over(l, s.combinations(l, level, level))
		s.proved = level
		if err != nil || s.best.Choice != nil {
			return err
		}
	}
	return nil
}

// least finds a box's best point (the polyblock method of monotonic optimisation). Vertices are taken by their value: the
// first that keeps the bound is the best. From any other, the last point y on the way to the far corner that does not keep
// it is found by bisection: nothing between the vertex and y keeps it, so for each function a vertex just beyond y
// stands for the rest. The first point behind y keeps it, and is a candidate. It returns a value that no point is below.
func (s *tailSearch) least(b *box) (float64, error) {
	far := b.corner(1)
	if ok, err := b.keeps(far); err != nil || !ok {
		return math.Inf(1), err // nothing keeps it
	}
	open := []vertex{{b.corner(0), b.bound}}
	known := map[string]bool{}
	for len(open) > 0 {
		v := heap.Pop(&open)
		if s.best.Choice != nil && v.value >= s.value*(1-1e-9) {
			return v.value, nil
		}
		y, behind, err := b.last(v.at, far)
		if err != nil {
			return v.value, err
		}
		if err := s.candidate(b, behind); err != nil {
			return v.value, err
		}
		if y == nil {
			return v.value, nil // the vertex keeps the bound
		}
		for f := range y {
			if y[f] == far[f] {
				continue
			}
			at := slices.Clone(v.at)
			at[f] = y[f] + 1
			if key := fmt.Sprint(at); !known[key] {
				known[key] = true
				value, err := b.objective(at)
				if err != nil {
					return v.value, err
				}
				heap.Push(&open, vertex{at, value})
			}
		}
	}
	return math.Inf(1), nil
}

// candidate takes a point that keeps the bound back towards the first options, function by function, as far as it still
// does, and makes it the best plan if it is, and keeps the other constraint.
func (s *tailSearch) candidate(b *box, at []int) error {
	at = slices.Clone(at)
	for f := range at {
		low, high := -1, at[f]
		for high-low > 1 {
			at[f] = (low + high) / 2
			ok, err := b.keeps(at)
			if err != nil {
				return err
			}
			if ok {
				high = at[f]
			} else {
				low = at[f]
			}
		}
		at[f] = high
	}
	return s.try(b.choice(at))
}

// infeasible says what of the constraints can be met, with the others as they are.
func (s *tailSearch) infeasible(l *levels) error {
	out := &Infeasible{Problem: s.p}
	for _, o := range [...]Objective{Time, Cost} {
		p := s.p
		name, bound := p.bound(o)
		wanted := *bound
		if wanted == 0 {
			continue
		}
		p.Objective, *bound = o, 0
		t := &tailSearch{ctx: s.ctx, m: s.m, p: p, seen: map[string]float64{}, quantiles: s.quantiles, scratch: s.scratch,
			limit: s.limit}
		if err := t.over(l, t.combinations(l, p.Accuracy, math.Inf(1))); err != nil && !errors.Is(err, errLimit) {
			return err
		}
		if t.best.Choice != nil {
			out.Needs = append(out.Needs, Need{name, wanted, t.value, t.best})
		}
	}
	slices.SortStableFunc(out.Needs, func(a, b Need) int { return cmp.Compare(a.distance(), b.distance()) })
	return out
}
