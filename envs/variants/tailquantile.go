package variants

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/envs/workflow"
)

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
