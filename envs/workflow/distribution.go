package workflow

import (
	"fmt"
	"math"
	"sort"
	"sync"
)

// Law is the law of one run's time in seconds at a node, without delays.
type Law interface {
	// Mean returns the expectation, Above the probability that a time is greater than s.
	Mean() float64
	Above(s float64) float64
}

// Grid is the grid on which a distribution is computed.
type Grid struct {
	// Step is the distance of its points in seconds. 0 chooses it so that the grid ends where at most one request in 10⁵
	// takes longer.
	Step float64 `yaml:"step,omitempty" json:"step,omitempty"`
	// Points is the number of points, a power of two. 0 means 4096.
	Points int `yaml:"points,omitempty" json:"points,omitempty"`
}

// Distribution is the distribution of the response time of requests that wait in no queue.
type Distribution struct {
	// Mean and quantiles in seconds.
	Mean, P50, P95, P99 float64
	// Error is the most in seconds by which one of the quantiles above can be wrong, whatever its cause. It is computed: the
	// time of every run is also rounded down to the grid, and rounded up, and the true quantile lies between the quantiles of
	// both. Where paths that wait for each other have nodes in common, the upper bound takes the times of those paths as
	// independent, the lower one as fully dependent, and the quantiles above the middle of both distribution functions.
	Error float64
	// Beyond is the probability that a request takes longer than the grid.
	Beyond float64
	// Step is the grid's.
	Step float64
	// Crossing says that some paths that wait for each other have nodes in common.
	Crossing bool

	middle, low, high []float64 // distribution functions at 0, Step, 2·Step, …
}

// Quantile returns the time in seconds that a request exceeds with probability 1-p; infinity if that is beyond the grid.
func (d *Distribution) Quantile(p float64) float64 {
	i := sort.SearchFloat64s(d.middle, p)
	if i == len(d.middle) {
		return math.Inf(1)
	}
	// What stands at a point is spread around it.
	before := 0.0
	if i > 0 {
		before = d.middle[i-1]
	}
	return max(0, d.Step*(float64(i)-0.5+(p-before)/(d.middle[i]-before)))
}

// Bounds returns the times between which the true quantile lies.
func (d *Distribution) Bounds(p float64) (low, high float64) {
	at := func(f []float64) float64 {
		i := sort.SearchFloat64s(f, p)
		if i == len(f) {
			return math.Inf(1)
		}
		return float64(float64(i) * d.Step)
	}
	return at(d.low), at(d.high)
}

// Above returns the probability that a request takes longer than s seconds.
func (d *Distribution) Above(s float64) float64 {
	x := s/d.Step + 0.5
	if x < 0 {
		return 1
	}
	i := int(x)
	if i >= len(d.middle) {
		return d.Beyond
	}
	before := 0.0
	if i > 0 {
		before = d.middle[i-1]
	}
	return 1 - (before + float64((d.middle[i]-before)*(x-float64(i))))
}

// tail is how much of the distribution a chosen grid leaves out.
const tail = 1e-5

// Distribution returns the distribution of the response time. laws has one law per node. Runs are independent. Times add
// up along a path, branches mix the distributions of what follows, the distribution function of a join is the product
// of those of the paths that meet, and a part that repeats is a walk whose time solves a linear system at every
// frequency of a Fourier transform; so a branch below a fork and loops that overlap are exact up to the grid.
//
// It fails for a workflow that is not a walk in some cyclic part (see [Workflow.Walkable]; loops around forks that a
// tracker cannot walk but overlap in order are no problem), for a law that is missing, and for a grid that is too short
// to have the 99th percentile. Delays count once per run and edge, whatever their count says, but for the start and the
// end of the published count.
func (w *Workflow) Distribution(laws []Law, d Delays, g Grid) (Distribution, error) {
	if w.overlap != nil {
		return Distribution{}, fmt.Errorf("workflow %q has no distribution of response times: %w", w.Name(), w.overlap)
	}
	if g.Points == 0 {
		g.Points = 4096
	}
	switch {
	case len(laws) != len(w.function):
		return Distribution{}, fmt.Errorf("workflow %q: %d laws, want one for each of its %d nodes", w.Name(), len(laws),
			len(w.function))
	case g.Points < 16 || g.Points > 1<<20 || g.Points&(g.Points-1) != 0:
		return Distribution{}, fmt.Errorf("workflow %q: the grid has %d points, want a power of two from 16 to 1048576",
			w.Name(), g.Points)
	case !(g.Step >= 0) || math.IsInf(g.Step, 0):
		return Distribution{}, fmt.Errorf("workflow %q: the grid's step is %v s, want a positive number, or 0 to choose it",
			w.Name(), g.Step)
	}
	means := make([]float64, len(laws))
	for n, l := range laws {
		if l == nil {
			return Distribution{}, fmt.Errorf("workflow %q: node %q has no law", w.Name(), w.NodeName(n))
		}
		if means[n] = l.Mean(); !(means[n] >= 0) || math.IsInf(means[n], 0) {
			return Distribution{}, fmt.Errorf("workflow %q: the law of node %q has mean %v s, want a finite number", w.Name(),
				w.NodeName(n), means[n])
		}
	}
	if g.Step == 0 {
		var err error
		if g.Step, err = w.chooseStep(laws, means, d, g.Points); err != nil {
			return Distribution{}, err
		}
	}
	out := Distribution{Step: g.Step}
	var f [3][]float64
	var crossing [3]bool
	var wait sync.WaitGroup
	with := newDamped(g.Points)
	for _, way := range []rounding{nearest, down, up} {
		wait.Go(func() {
			t := newTransform(w, w.spectra(laws, d, g, way, with), d, g, way, with)
			f[way], crossing[way] = t.response(), t.crossing
		})
	}
	wait.Wait()
	out.middle, out.low, out.high, out.Crossing = f[nearest], f[down], f[up], crossing[nearest]
	last := out.middle[len(out.middle)-1]
	out.Beyond = max(0, 1-last)
	before := 0.0
	for i, f := range out.middle {
		out.Mean += float64((f - before) * float64(i) * g.Step)
		before = f
	}
	out.Mean += float64(out.Beyond * float64(g.Points) * g.Step)
	out.P50, out.P95, out.P99 = out.Quantile(0.5), out.Quantile(0.95), out.Quantile(0.99)
	for _, p := range []float64{0.5, 0.95, 0.99} {
		low, high := out.Bounds(p)
		q := out.Quantile(p)
		out.Error = max(out.Error, q-low, high-q)
	}
	switch {
	case math.IsInf(out.P99, 0):
		return Distribution{}, fmt.Errorf("workflow %q: %.3g of the requests take longer than the grid of %d steps of %v s: "+
			"want a longer step, or 0 to choose it", w.Name(), out.Beyond, g.Points, g.Step)
	case math.IsInf(out.Error, 0):
		return Distribution{}, fmt.Errorf("workflow %q: on a grid of %d points, %v s apart, the rounding of its many runs adds "+
			"up to more than the grid: want more points", w.Name(), g.Points, g.Step)
	}
	return out, nil
}

// spectra returns those of each node's run.
func (w *Workflow) spectra(laws []Law, d Delays, g Grid, way rounding, with *damped) [][]complex128 {
	out := make([][]complex128, len(laws))
	for n, l := range laws {
		out[n] = w.run(n, l, d, g, way, with)
	}
	return out
}

// chooseStep returns the step of a grid that leaves out about the tail of the distribution.
func (w *Workflow) chooseStep(laws []Law, means []float64, d Delays, points int) (float64, error) {
	const few = 1024
	horizon := 4 * w.Response(means, d)
	if horizon == 0 {
		return 1e-3, nil
	}
	with := newDamped(few)
	for range 60 {
		g := Grid{Step: horizon / few, Points: few}
		f := newTransform(w, w.spectra(laws, d, g, nearest, with), d, g, nearest, with).response()
		if 1-f[few-1] > tail {
			horizon *= 2
			continue
		}
		i := sort.SearchFloat64s(f, 1-tail)
		if i > few/4 {
			return horizon * float64(i+2) / few / float64(points-1), nil
		}
		horizon *= float64(i+2) / few
	}
	return 0, fmt.Errorf("workflow %q: the response time has no tail that ends within %.3g s; want laws whose tails fall off",
		w.Name(), horizon)
}

// rounding says how a law is put on the grid.
type rounding int

const (
	nearest rounding = iota // to both neighbours, so that the mean stays
	down
	up
)

// lattice returns a law's probabilities at the grid's points: times are shifted by a delay first. What lies beyond the
// grid is missing.
func lattice(l Law, shift float64, g Grid, way rounding) []float64 {
	out := make([]float64, g.Points)
	above := func(s float64) float64 {
		if s < shift {
			return 1
		}
		return min(1, max(0, l.Above(s-shift)))
	}
	before := above(0)
	out[0] = 1 - before
	for k := range out {
		s := float64(float64(k) * g.Step)
		after := min(before, above(s+g.Step))
		mass := before - after
		if mass == 0 {
			continue
		}
		share := 1.0 // of the mass that goes to the upper point
		switch way {
		case down:
			share = 0
		case nearest:
			// The law is read within the step to keep its mean: more often where much of it is within one.
			fine := 8
			if mass > 1.0/16 {
				fine = 64
			}
			var area float64
			for i := range fine {
				area += above(s + float64(g.Step*((float64(i)+0.5)/float64(fine))))
			}
			share = min(1, max(0, (area/float64(fine)-after)/mass))
		}
		if k+1 < len(out) {
			out[k+1] += float64(mass * share)
		}
		out[k] += float64(mass * (1 - share))
		before = after
	}
	return out
}

// fixed is a time that does not vary.
type fixed float64

func (f fixed) Mean() float64 { return float64(f) }

func (f fixed) Above(s float64) float64 {
	if s < float64(f) {
		return 1
	}
	return 0
}

// sums turns probabilities into a distribution function, in place.
func sums(mass []float64) {
	var sum, most float64
	for i, p := range mass {
		sum += p
		most = min(1, max(sum, most))
		mass[i] = most
	}
}

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
