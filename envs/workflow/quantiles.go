package workflow

import (
	"fmt"
	"math"
)

// Quantiles computes quantiles of the response time for many combinations of laws, on one grid. It is much faster than
// [Workflow.Distribution]: each law is transformed once, and no bounds are computed. It is for one goroutine.
type Quantiles struct {
	w    *Workflow
	laws [][]Law
	d    Delays
	g    Grid
	with *damped
	runs [][][]complex128 // per node and law; nil until it is needed
	now  [][]complex128   // per node
}

// Quantiles returns a computer of quantiles below a horizon in seconds, on a grid of so many points, a power of two. laws has
// for each node the laws that it can have.
func (w *Workflow) Quantiles(laws [][]Law, d Delays, horizon float64, points int) (*Quantiles, error) {
	switch {
	case w.overlap != nil:
		return nil, fmt.Errorf("workflow %q has no distribution of response times: %w", w.Name(), w.overlap)
	case len(laws) != len(w.function):
		return nil, fmt.Errorf("workflow %q: laws of %d nodes, want them for each of its %d", w.Name(), len(laws), len(w.function))
	case points < 16 || points&(points-1) != 0:
		return nil, fmt.Errorf("workflow %q: the grid has %d points, want a power of two from 16", w.Name(), points)
	case !(horizon > 0) || math.IsInf(horizon, 0):
		return nil, fmt.Errorf("workflow %q: the horizon is %v s, want a positive number", w.Name(), horizon)
	}
	q := &Quantiles{w: w, laws: laws, d: d, g: Grid{Step: horizon / float64(points), Points: points}, with: newDamped(points),
		now: make([][]complex128, len(laws))}
	for _, l := range laws {
		q.runs = append(q.runs, make([][]complex128, len(l)))
	}
	return q, nil
}

// Of returns the p-quantile where each node has the law that choice names, infinity where it is beyond the horizon.
func (q *Quantiles) Of(choice []int, p float64) float64 {
	for n, c := range choice {
		if q.runs[n][c] == nil {
			q.runs[n][c] = q.w.run(n, q.laws[n][c], q.d, q.g, nearest, q.with)
		}
		q.now[n] = q.runs[n][c]
	}
	t := newTransform(q.w, q.now, q.d, q.g, nearest, q.with)
	d := Distribution{Step: q.g.Step, middle: t.response()}
	return d.Quantile(p)
}

// Joints returns the number of edges in all combinations of branches: what a distribution takes grows with it.
func (w *Workflow) Joints() int {
	n := len(w.function)
	for _, regions := range [][]region{w.regions, w.inner} {
		for i := range regions {
			for _, s := range regions[i].scenarios {
				n += len(s.links)
			}
		}
	}
	return n
}
