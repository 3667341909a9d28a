package workflow

import (
	"errors"
	"fmt"
	"slices"
)

// Where a loop leads out of a parallel path to before its fork, or parallel paths enter a part that repeats at several
// nodes, several runs of the same nodes can be under way at once, and what waits for what is not given by the graph. Then
// this holds: every return starts a pass of its own through the part, and a join waits for the paths of its own pass, so
// that it counts once for each pass in which a path reaches it. If a pass that starts at h runs node j with probability
// r_h(j), the expected number of passes N that start at each node solves
//
//	N_h = e_h + Σ_g N_g·Σ_s r_g(s)·P(s, h)
//
// over loop edges s → h, and node j runs Σ_h N_h·r_h(j) times. For the response time each node of such a part counts its
// time as often as it runs when a request passes it without taking loops, and what follows the part is reached as if no
// loop were taken: a mean model as rough as the papers'.

// composeOverlap fills the workflow's regions and factors where a cyclic part is not a walk.
func (c *composer) composeOverlap(s *scope) error {
	w := c.w
	w.regions, w.inner, w.spans, w.terms = nil, nil, nil, nil
	for n := range w.factor {
		w.factor[n] = 1
	}
	if err := c.compose(s); err != nil {
		return err
	}
	for p, y := range s.parts {
		*y = cycle{nodes: y.nodes}
		_, err := c.cycleOf(s, y.nodes[0])
		if o := (*overlapError)(nil); errors.As(err, &o) {
			err = c.passes(s, int32(p))
		}
		if err != nil {
			return err
		}
	}
	w.inner, w.spans, w.terms = nil, nil, nil // of parts that are walks
	return nil
}

// passes computes the factors of the nodes of a cyclic part.
func (c *composer) passes(s *scope, part int32) error {
	w, nodes := c.w, s.parts[part].nodes
	var starts []int32
	in := make([]bool, len(w.function)) // the part, and what runs in parallel with it
	for _, m := range nodes {
		if c.entered(s, m) {
			starts = append(starts, m)
		}
		in[m] = true
		if w.forks(m) && c.meet[m] != nowhere {
			for t, between := range w.between(m, c.meet[m]) {
				in[t] = in[t] || between
			}
		}
	}
	entries := len(starts)
	for _, m := range nodes {
		for _, a := range w.alts[m] {
			if a.loop >= 0 && !slices.Contains(starts, a.to) {
				starts = append(starts, a.to)
			}
		}
	}
	n := len(starts)
	number := make([]float64, n) // N
	matrix := make([][]float64, n)
	runs := make([][]float64, n)
	once := make([]float64, len(w.function)) // runs without loops
	for i, h := range starts {
		x := pass{w: w, s: s, part: part, in: in, loops: true}
		if err := x.from(h); err != nil {
			return err
		}
		runs[i] = x.runs
		matrix[i] = make([]float64, n)
		for t, p := range x.returns {
			if p > 0 {
				matrix[i][slices.Index(starts, int32(t))] = p
			}
		}
		if i < entries {
			number[i] = 1
			x := pass{w: w, s: s, part: part, in: in}
			if err := x.from(h); err != nil {
				return err
			}
			for m, p := range x.runs {
				once[m] += p
			}
		}
	}
	if !solvePasses(matrix, number) {
		return fmt.Errorf("the part that repeats around %q never ends: a pass through it starts one other or more in "+
			"expectation; lower the probabilities of its loop edges", w.NodeName(int(starts[0])))
	}
	for m := range w.function {
		var v float64
		for i := range starts {
			v += float64(number[i] * runs[i][m])
		}
		if once[m] > 0 {
			w.factor[m] *= v / once[m]
		}
	}
	return nil
}

// entered says whether a node is entered from outside its cyclic part.
func (c *composer) entered(s *scope, n int32) bool {
	return int(n) == c.w.entry || slices.ContainsFunc(c.w.from[n], func(m int32) bool { return s.part[m] != s.part[n] })
}

// solvePasses solves N = e + Nᵀ·M in place of e. It returns false if the passes grow without end, which is where a pivot
// of I - M, a matrix without positive entries beside its diagonal, is not positive.
func solvePasses(m [][]float64, e []float64) bool {
	n := len(e)
	a := make([][]float64, n) // (I - M)ᵀ
	for i := range a {
		a[i] = make([]float64, n)
		for j := range n {
			a[i][j] = -m[j][i]
		}
		a[i][i]++
	}
	for k := range n {
		if a[k][k] <= 1e-12 {
			return false
		}
		for i := k + 1; i < n; i++ {
			f := a[i][k] / a[k][k]
			for j := k; j < n; j++ {
				a[i][j] -= float64(f * a[k][j])
			}
			e[i] -= float64(f * e[k])
		}
	}
	for k := n - 1; k >= 0; k-- {
		for j := k + 1; j < n; j++ {
			e[k] -= float64(a[k][j] * e[j])
		}
		e[k] /= a[k][k]
	}
	return true
}

// pass is one pass through a cyclic part: all combinations of its branches, and of its loops unless these are left out.
type pass struct {
	w       *Workflow
	s       *scope
	start   int32
	part    int32
	in      []bool
	loops   bool      // of the part; parts that lie in one of its parallel paths repeat by factors of their own
	runs    []float64 // probability that a node runs
	returns []float64 // expected returns to a node
	taken   []int32   // per node: edges taken into it
	back    []int32   // loops taken
	ran     []int32
	count   int
}

func (x *pass) from(h int32) error {
	n := len(x.w.function)
	x.runs, x.returns, x.taken = make([]float64, n), make([]float64, n), make([]int32, n)
	x.taken[h], x.start = 1, h
	return x.explore(0, 1)
}

func (x *pass) explore(at int, p float64) error {
	for ; at < len(x.s.order); at++ {
		if m := x.s.order[at]; x.taken[m] != 0 && x.in[m] {
			return x.leave(m, at+1, p)
		}
	}
	if x.count++; x.count > maxScenarios {
		return &manyError{x.w.NodeName(int(x.start))}
	}
	for _, m := range x.ran {
		x.runs[m] += p
	}
	for _, t := range x.back {
		x.returns[t] += p
	}
	return nil
}

// leave tries what can follow a node.
func (x *pass) leave(m int32, at int, p float64) error {
	w, back, branches := x.w, x.w.back(m), false
	loops := x.loops && x.s.part[m] == x.part
	x.ran = append(x.ran, m)
	defer func() { x.ran = x.ran[:len(x.ran)-1] }()
	for _, a := range w.alts[m] {
		if a.loop < 0 || !loops {
			continue
		}
		x.back = append(x.back, a.to)
		err := x.explore(at, float64(p*a.p))
		x.back = x.back[:len(x.back)-1]
		if err != nil {
			return err
		}
	}
	if back >= 1 && loops {
		return nil
	}
	for _, t := range w.next[m] {
		x.enter(t, 1)
		defer x.enter(t, -1)
	}
	for _, a := range w.alts[m] {
		if a.loop >= 0 {
			continue
		}
		branches = true
		q := a.p
		if !loops {
			q /= 1 - back
		}
		x.enter(a.to, 1)
		err := x.explore(at, float64(p*q))
		x.enter(a.to, -1)
		if err != nil {
			return err
		}
	}
	if branches {
		return nil
	}
	return x.explore(at, p)
}

func (x *pass) enter(t, by int32) {
	if t != exit {
		x.taken[t] += by
	}
}
