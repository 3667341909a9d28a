package variants

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
)

// fronts are a model's exact trade-offs between time and cost, each worked out when it is first asked for. A floor names
// for each function the least accurate variant that it may have; the front is over all variants from there on. Fronts do
// not depend on the accuracy formula, so models that differ in it alone share them.
type fronts struct {
	mu sync.Mutex
	by map[string][]Plan // by the floor's ranks

	shape    sync.Once // finds out about crossing
	crossing bool
}

// WithAccuracy returns the model with another formula (and weights) of the accuracy score. Both share what is worked out.
func (m *Model) WithAccuracy(formula string, weights map[string]float64, normalize bool) (*Model, error) {
	app, other := *m.App, *m
	app.Accuracy, app.Weights, app.Normalize = formula, weights, normalize
	other.App = &app
	var err error
	other.score, err = newScore(&app, m.Flow.Functions(), m.score.accuracy)
	return &other, err
}

// maxLevels bounds the combinations of variants that an exact solution goes through.
const maxLevels = 1 << 16

// levels are the combinations of variants by their ranks: rank 0 is a function's least accurate variant.
type levels struct {
	*score
	order  [][]int // per function and rank the variant
	rank   [][]int // per function and variant the rank
	scores []float64
	values []float64 // the different scores, ascending
}

func (m *Model) levels() (*levels, error) {
	l := &levels{score: m.score}
	total := 1
	for f, acc := range m.score.accuracy {
		order := make([]int, m.score.count(f))
		for v := range order {
			order[v] = v
		}
		if acc != nil {
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(acc[a], acc[b]) })
		}
		rank := make([]int, len(order))
		for r, v := range order {
			rank[v] = r
		}
		l.order, l.rank = append(l.order, order), append(l.rank, rank)
		if total *= len(order); total > maxLevels {
			return nil, bounds.Errorf("functions", "have more than %d combinations of variants, too many for an exact solution", maxLevels)
		}
	}
	l.scores = make([]float64, total)
	ranks, variants := make([]int, len(l.order)), make([]int, len(l.order))
	for i := range l.scores {
		l.unrank(i, ranks)
		for f, r := range ranks {
			variants[f] = l.order[f][r]
		}
		l.scores[i] = m.score.of(variants)
	}
	l.values = slices.Clone(l.scores)
	slices.Sort(l.values)
	l.values = slices.CompactFunc(l.values, func(a, b float64) bool { return math.Abs(a-b) <= slack*math.Abs(b) })
	return l, nil
}

// floors returns the least combinations whose score is at least a given one: every combination that reaches it is, function
// for function, at least one of them.
func (l *levels) floors(score float64) [][]int {
	score *= 1 - slack
	var out [][]int
	ranks := make([]int, len(l.order))
	for i, s := range l.scores {
		if s < score {
			continue
		}
		l.unrank(i, ranks)
		least, step := true, 1
		for f := len(ranks) - 1; f >= 0 && least; f-- {
			least = ranks[f] == 0 || l.scores[i-step] < score
			step *= len(l.order[f])
		}
		if least {
			out = append(out, slices.Clone(ranks))
		}
	}
	return out
}

// pareto returns for each function those of the options of some ranks that no other dominates: time rising, price
// falling.
func (m *Model) pareto(l *levels, has func(f, rank int) bool) [][]int {
	out := make([][]int, len(m.Options))
	for f, options := range m.Options {
		var all []int
		for o := range options {
			if has(f, l.rank[f][options[o].Variant]) {
				all = append(all, o)
			}
		}
		slices.SortStableFunc(all, func(a, b int) int {
			return cmp.Or(cmp.Compare(options[a].Seconds, options[b].Seconds), cmp.Compare(options[a].USD, options[b].USD))
		})
		for _, o := range all {
			if n := len(out[f]); n == 0 || options[o].USD < options[out[f][n-1]].USD {
				out[f] = append(out[f], o)
			}
		}
	}
	return out
}

// problem returns a floor's problem of time and price, and for each function the options that it has.
func (m *Model) problem(l *levels, floor []int) (frontier.Problem, [][]int) {
	kept := m.pareto(l, func(f, rank int) bool { return rank >= floor[f] })
	p := frontier.Problem{Flow: m.Flow, Delays: m.Delays}
	for f, options := range kept {
		list := make([]frontier.Option, len(options))
		for i, o := range options {
			list[i] = frontier.Option{Seconds: m.Options[f][o].Seconds, USD: m.Options[f][o].USD}
		}
		p.Options = append(p.Options, list)
	}
	return p, kept
}

// front returns the exact front of a floor, time rising and cost falling, orchestration included. A cost that grows
// with the response time removes points from the front and adds none: a point that is faster and cheaper without this
// cost is so with it.
func (m *Model) front(ctx context.Context, l *levels, floor []int) ([]Plan, error) {
	key := fmt.Sprint(floor)
	m.fronts.mu.Lock()
	out, ok := m.fronts.by[key]
	m.fronts.mu.Unlock()
	if ok {
		return out, nil
	}
	p, kept := m.problem(l, floor)
	points, err := frontier.Exact(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", m.App.Name, strings.TrimPrefix(err.Error(), "frontier: "))
	}
	for _, x := range points {
		for f := range x.Choice {
			x.Choice[f] = kept[f][x.Choice[f]]
		}
		usd := Executions * (x.USD + m.OrchestrationUSD(x.Seconds))
		if n := len(out); n > 0 && m.Orchestration == bill.Express && usd >= out[n-1].USD {
			continue
		}
		out = append(out, Plan{x.Choice, Outcome{Seconds: x.Seconds, USD: usd}})
	}
	m.fronts.mu.Lock()
	m.fronts.by[key] = out
	m.fronts.mu.Unlock()
	return out, nil
}

// Front returns every configuration with at least an accuracy score that no other such one dominates in time and cost:
// time rising, cost falling. It is exact.
func (m *Model) Front(ctx context.Context, accuracy float64) ([]Plan, error) {
	l, err := m.levels()
	if err != nil {
		return nil, err
	}
	return m.frontOf(ctx, l, accuracy)
}

func (m *Model) frontOf(ctx context.Context, l *levels, accuracy float64) ([]Plan, error) {
	var out []Plan
	for _, floor := range l.floors(accuracy) {
		front, err := m.front(ctx, l, floor)
		if err != nil {
			return nil, err
		}
		out = merge(out, front)
	}
	s := m.NewScratch()
	for i := range out {
		out[i].Accuracy = m.accuracy(s, out[i].Choice)
	}
	return out, nil
}

// merge returns the front of two fronts; of equal points it keeps the first one's.
func merge(a, b []Plan) []Plan {
	out := make([]Plan, 0, len(a)+len(b))
	for len(a)+len(b) > 0 {
		next := &a
		if len(a) == 0 || len(b) > 0 && (b[0].Seconds < a[0].Seconds || b[0].Seconds == a[0].Seconds && b[0].USD < a[0].USD) {
			next = &b
		}
		p := (*next)[0]
		*next = (*next)[1:]
		if n := len(out); n == 0 || p.USD < out[n-1].USD*(1-1e-12) {
			out = append(out, p)
		}
	}
	return out
}

// Tradeoffs returns every configuration with at least an accuracy score that no other one dominates in time, cost and
// accuracy together: accuracy falling, then time rising. It is exact.
func (m *Model) Tradeoffs(ctx context.Context, accuracy float64) ([]Plan, error) {
	l, err := m.levels()
	if err != nil {
		return nil, err
	}
	var out []Plan
	for _, level := range slices.Backward(l.values) {
		if level < accuracy*(1-slack) {
			break
		}
		front, err := m.frontOf(ctx, l, level)
		if err != nil {
			return nil, err
		}
		for _, p := range front { // a more accurate point of this front is on the front of its own level
			if p.Accuracy <= level*(1+2*slack) {
				out = append(out, p)
			}
		}
	}
	return out, nil
}
