package workflow

import (
	"fmt"
	"slices"
)

// A cyclic part of a workflow in which one request is at one place at a time is a walk: at a node it takes one of the
// alternatives, at a fork it waits until the parallel paths have met. So a fork with all up to the node where its paths
// meet is one step of the walk, and a join counts once for it, not once per arriving edge. The expected visits v of the
// nodes then solve the linear system
//
//	v_j = e_j + Σ_i v_i·P_ij,
//
// with e_j = 1 where the request enters and P_ij the probability of an edge, or of a fork i whose paths meet at j. Loops
// may overlap in any way, and the part may be entered and left at several nodes. What a request does in the part given
// that it enters at e and leaves by x follows from B(i,x), the probability of leaving by x from i: it visits node j
// v_j·B(j,x)/B(e,x) times.
//
// Where a loop leads out of a parallel path, to before its fork, this does not hold: see overlap.go.

// cycle is a cyclic part of a scope.
type cycle struct {
	nodes   []int32
	index   map[int32]int // states: the nodes that the walk stops at
	entries map[int32]bool
	walk    *chain
	exits   []way
	arcs    []arc
	join    []int32 // per state: state at which its fork's paths meet, -1 if it has no fork that ends in the part
	forks   []int32 // per state: region of that fork
	spans   map[int32][]int32
}

// arc is a step of the walk: to a state, or out by an exit; of a fork to where its paths meet, through a region.
type arc struct {
	from, to int
	out      bool
	p        float64
	fork     int32 // -1: by an edge
}

// way is an exit of a cyclic part: by an edge to a node (exit for the end), or by a fork whose paths meet outside.
type way struct {
	to   int32
	fork bool
}

// span is all that a request does in a cyclic part between entering at a node and leaving by an exit.
type span struct {
	way
	cycle *cycle
	from  int     // state of the entry
	exit  int     // number of the exit
	p     float64 // probability of the exit, given the entry
	runs  []share // expected runs of nodes, less one for the entry, and for the fork by which it leaves
	forks []share // expected passes through regions, without the run of the fork itself
	// Delays counted, apart from those of the regions, of the entry's first run and of the last run of a fork at the exit;
	// once and as published.
	once, published tally
}

// share is a number of times that something happens.
type share struct {
	what int32
	n    float64
}

// term is an inner region or a span, whichever was found first: none depends on a later one.
type term struct {
	region bool
	index  int32
}

// tally counts delays.
type tally struct{ nodes, edges float64 }

// composer composes a workflow's response time from regions and spans.
type composer struct {
	w    *Workflow
	meet []int32 // where the paths of each node meet
	// Scratch, per node.
	spare [][]int32
	mark  []int32
	marks int32
}

// overlapError says that a cyclic part is not a walk.
type overlapError struct{ reason string }

func (e *overlapError) Error() string { return e.reason }

// cycleOf returns the cyclic part of a node in a scope, solved.
func (c *composer) cycleOf(s *scope, n int32) (*cycle, error) {
	y := s.parts[s.part[n]]
	if y.walk != nil {
		return y, nil
	}
	w := c.w
	within := func(t int32) bool { return t != exit && s.part[t] == s.part[n] }
	y.index, y.spans = map[int32]int{}, map[int32][]int32{}
	var states []int32
	add := func(m int32) {
		if _, ok := y.index[m]; !ok {
			y.index[m] = len(states)
			states = append(states, m)
		}
	}
	y.entries = map[int32]bool{}
	for _, m := range y.nodes {
		if int(m) == w.entry || slices.ContainsFunc(w.from[m], func(k int32) bool { return !within(k) }) {
			y.entries[m] = true
			add(m)
		}
	}
	step := func(from int, to way, p float64, fork int32) {
		if !to.fork && within(to.to) {
			add(to.to)
			y.arcs = append(y.arcs, arc{from, y.index[to.to], false, p, fork})
			return
		}
		x := slices.Index(y.exits, to)
		if x < 0 {
			x = len(y.exits)
			y.exits = append(y.exits, to)
		}
		y.arcs = append(y.arcs, arc{from, x, true, p, -1})
	}
	for i := 0; i < len(states); i++ {
		m := states[i]
		y.join, y.forks = append(y.join, -1), append(y.forks, -1)
		fork := w.forks(m)
		if fork {
			if err := c.checkFork(m); err != nil {
				return nil, err
			}
		}
		for _, a := range w.alts[m] {
			if a.loop >= 0 || !fork {
				step(i, way{to: a.to}, a.p, -1)
			}
		}
		switch {
		case !fork:
			for _, t := range w.next[m] {
				step(i, way{to: t}, 1, -1)
			}
		case within(c.meet[m]):
			r, err := c.forkIn(m)
			if err != nil {
				return nil, err
			}
			y.forks[i] = r
			step(i, way{to: c.meet[m]}, 1-w.back(m), r)
			y.join[i] = int32(y.index[c.meet[m]])
		default:
			step(i, way{to: m, fork: true}, 1-w.back(m), -1)
		}
	}
	y.walk = newChain(len(states), len(y.exits))
	for _, a := range y.arcs {
		if a.out {
			a.to += len(states)
		}
		y.walk.row(a.from)[a.to] += a.p
	}
	if k := y.walk.solve(); k >= 0 {
		return nil, fmt.Errorf("node %q is in a part that is never left: lead an edge out of it", w.NodeName(int(states[k])))
	}
	c.stretch(y, states)
	return y, nil
}

// checkFork checks that no loop leads out of the parallel paths that start at a fork in a cyclic part.
func (c *composer) checkFork(f int32) error {
	w := c.w
	if c.meet[f] == nowhere {
		return &overlapError{fmt.Sprintf("the parallel paths that start at %q all lead back", w.NodeName(int(f)))}
	}
	in := w.between(f, c.meet[f])
	for i := range w.loops {
		if l := &w.loops[i]; in[l.source] && !in[l.header] {
			return &overlapError{fmt.Sprintf("the loop edge %s -> %s leads out of one of the parallel paths that start at "+
				"%q, while the others may still run", w.NodeName(int(l.source)), w.NodeName(int(l.header)), w.NodeName(int(f)))}
		}
	}
	return nil
}

// forkIn returns the region of a fork in a cyclic part.
func (c *composer) forkIn(f int32) (int32, error) {
	w := c.w
	in := w.between(f, c.meet[f])
	r := region{from: f}
	e := c.newExplorer(w.newScope(in), &r, c.meet[f], maxScenarios)
	if err := e.begin(); err != nil {
		return 0, err
	}
	w.inner = append(w.inner, r)
	w.terms = append(w.terms, term{region: true, index: int32(len(w.inner) - 1)})
	return int32(len(w.inner) - 1), nil
}

// spansFrom returns the spans of the cyclic part that a request enters at a node, as indices into the workflow's spans.
func (c *composer) spansFrom(s *scope, entry int32) ([]int32, error) {
	y, err := c.cycleOf(s, entry)
	if err != nil {
		return nil, err
	}
	if out, ok := y.spans[entry]; ok {
		return out, nil
	}
	e := y.index[entry]
	visits := y.walk.visits(e)
	var out []int32
	for x, to := range y.exits {
		b := y.walk.leaves(x)
		if b[e] <= 0 {
			continue
		}
		sp := span{way: to, cycle: y, from: e, exit: x, p: b[e]}
		for _, m := range y.nodes {
			i, ok := y.index[m]
			if !ok {
				continue
			}
			v := float64(visits[i] * (b[i] / b[e]))
			sp.once.edges += v
			if j := y.join[i]; j >= 0 {
				n := float64(float64(visits[i]*(1-c.w.back(m))) * (b[j] / b[e]))
				sp.forks = append(sp.forks, share{y.forks[i], n})
				sp.once.edges -= n
			}
			if m == entry {
				v--
			}
			if to.fork && m == to.to {
				v--
				sp.once.edges-- // the last step is the fork's own
			}
			if v != 0 {
				sp.runs = append(sp.runs, share{m, v})
				sp.once.nodes += v
			}
		}
		sp.published = sp.once
		if t, ok := c.published(s, y, entry); ok {
			sp.published = t
			if to.fork {
				sp.published.nodes--
			}
		}
		out = append(out, int32(len(c.w.spans)))
		c.w.terms = append(c.w.terms, term{index: int32(len(c.w.spans))})
		c.w.spans = append(c.w.spans, sp)
	}
	y.spans[entry] = out
	return out, nil
}

// stretch computes the factors of the nodes of a cyclic part, and of those between its forks and their joins.
func (c *composer) stretch(y *cycle, states []int32) {
	w := c.w
	visits, once := make([]float64, len(states)), make([]float64, len(states))
	for i, m := range states {
		if y.entries[m] {
			for j, v := range y.walk.visits(i) {
				visits[j] += v
			}
			once[i]++
		}
	}
	for _, m := range y.nodes { // topological order
		i, ok := y.index[m]
		if !ok {
			continue
		}
		if j := y.join[i]; j >= 0 {
			once[j] += once[i]
		} else {
			for _, t := range w.next[m] {
				if j, ok := y.index[t]; ok {
					once[j] += once[i]
				}
			}
			for _, a := range w.alts[m] {
				if j, ok := y.index[a.to]; ok && a.loop < 0 {
					once[j] += float64(once[i] * (a.p / (1 - w.back(m))))
				}
			}
		}
		if once[i] > 0 {
			w.factor[m] *= visits[i] / once[i]
		}
	}
	for i, m := range states {
		if y.join[i] < 0 || once[i] == 0 {
			continue
		}
		for n, in := range w.between(m, c.meet[m]) {
			if _, ok := y.index[int32(n)]; in && !ok {
				w.factor[n] *= visits[i] / once[i]
			}
		}
	}
}

// chain is a walk of one request over states 0 to n-1 that leaves by one of several exits: what a cyclic part of a
// workflow is as long as nothing runs in parallel.
//
// It is solved by the state reduction of Grassmann, Taksar and Heyman, which takes no differences: results are exact to
// about n roundings even where the walk hardly ever leaves, as in SLApp's worst case. Eliminating state k from states
// 0…k gives, with s_k = Σ_{j<k} p_kj + Σ_x p_kx,
//
//	p_ij += p_ik·p_kj / s_k   and   p_ix += p_ik·p_kx / s_k   for i, j < k and exits x,
//
// the walk as seen by somebody who looks away while it is in k. O(n³ + n²·exits).
type chain struct {
	n, exits int
	p        []float64 // row i: to states 0 to n-1, then to exits; column k as it is when k is eliminated
	sum      []float64 // s_k
}

func newChain(n, exits int) *chain {
	return &chain{n: n, exits: exits, p: make([]float64, n*(n+exits)), sum: make([]float64, n)}
}

func (c *chain) row(i int) []float64 { return c.p[i*(c.n+c.exits):][:c.n+c.exits] }

// solve eliminates the states. It returns a state from which the walk never leaves, or -1.
func (c *chain) solve() int {
	for k := c.n - 1; k >= 0; k-- {
		row := c.row(k)
		for j, p := range row {
			if j < k || j >= c.n {
				c.sum[k] += p
			}
		}
		if c.sum[k] <= 0 {
			return k
		}
		for i := range k {
			to := c.row(i)
			if to[k] == 0 {
				continue
			}
			f := to[k] / c.sum[k]
			for j := range k {
				to[j] += float64(f * row[j])
			}
			for x := c.n; x < len(row); x++ {
				to[x] += float64(f * row[x])
			}
		}
	}
	return -1
}

// visits returns the expected visits of each state by a walk that starts in state e.
func (c *chain) visits(e int) []float64 {
	v := make([]float64, c.n)
	v[e] = 1
	for k := c.n - 1; k > 0; k-- {
		if v[k] == 0 {
			continue
		}
		for j := range k {
			v[j] += float64(v[k] * (c.row(k)[j] / c.sum[k]))
		}
	}
	for k := range c.n {
		for j := range k {
			v[k] += float64(v[j] * c.row(j)[k])
		}
		v[k] /= c.sum[k]
	}
	return v
}

// leaves returns for each state the probability that a walk from there leaves by exit x.
func (c *chain) leaves(x int) []float64 {
	b := make([]float64, c.n)
	for k := range c.n {
		b[k] = c.row(k)[c.n+x]
		for j := range k {
			b[k] += float64(c.row(k)[j] * b[j])
		}
		b[k] /= c.sum[k]
	}
	return b
}
