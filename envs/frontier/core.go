package frontier

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// core is a response time that is no tree of sums and maxima over its variables: a convex, rising, piecewise linear
// function of their times. Each variable is a front: of a part whose functions are nowhere else in the core, or of the
// options of a function that is at several places.
type core struct {
	vars []*stair
	ops  []op
	last int // the op whose result is the time
	// value and weight are scratch, one per op: its time, and its share in a slope.
	value, weight []float64
	variable      map[int]int    // variable of a shared function
	known         map[string]int // index of each op, so that none is there twice
	keep          func(*term) bool
}

// op is a step of the evaluation: factor times the time of a variable, or the sum, maximum or mixture of earlier
// results, plus a constant.
type op struct {
	kind     opKind
	variable int
	factor   float64
	constant float64
	args     []int
	share    []float64 // probabilities of a mixture
}

type opKind int

const (
	variableOp opKind = iota
	sumOp
	maxOp
	mixOp
)

// newCore writes a term as a core. Its parts whose functions are nowhere else become variables, if keep is nil or says so.
func (s *solver) newCore(t *term, keep func(*term) bool) (*core, error) {
	c := &core{variable: map[int]int{}, known: map[string]int{}, keep: keep}
	places := map[int]int{}
	t.places(places)
	var err error
	if c.last, err = c.add(s, t, places); err != nil {
		return nil, err
	}
	c.value, c.weight = make([]float64, len(c.ops)), make([]float64, len(c.ops))
	return c, nil
}

// add appends the ops of a term and returns the last one's index.
func (c *core) add(s *solver, t *term, places map[int]int) (int, error) {
	if t.kind == workflow.Single && places[t.function] > 1 {
		v, ok := c.variable[t.function]
		if !ok {
			v = len(c.vars)
			c.variable[t.function] = v
			c.vars = append(c.vars, s.options(t.function, 1, 0))
		}
		return c.push(op{kind: variableOp, variable: v, factor: t.weight, constant: t.constant}), nil
	}
	if len(c.ops) > 0 || t.kind == workflow.Single { // the core itself is no variable of itself
		here := map[int]int{}
		t.places(here)
		closed := true
		for f, n := range here {
			closed = closed && n == places[f]
		}
		if closed && (c.keep == nil || t.kind == workflow.Single || c.keep(t)) {
			f, err := s.front(t)
			if err != nil {
				return 0, err
			}
			c.vars = append(c.vars, f)
			return c.push(op{kind: variableOp, variable: len(c.vars) - 1, factor: 1}), nil
		}
	}
	if len(c.ops) == 0 {
		c.push(op{kind: sumOp}) // zero: marks that the core has begun, and is where paths start
	}
	args := make([]int, len(t.terms))
	for i, child := range t.terms {
		a, err := c.add(s, child, places)
		if err != nil {
			return 0, err
		}
		args[i] = a
	}
	switch t.kind {
	case workflow.Series:
		return c.push(op{kind: sumOp, args: args, constant: t.constant}), nil
	case workflow.Parallel:
		return c.push(op{kind: maxOp, args: args, constant: t.constant}), nil
	default:
		return c.paths(t, args), nil
	}
}

// push appends an op, unless it is there, and returns its index: ways of a crossing share most of theirs.
func (c *core) push(o op) int {
	if len(o.args) == 1 && o.kind != mixOp && o.constant == 0 {
		return o.args[0]
	}
	key := fmt.Sprint(o)
	if i, ok := c.known[key]; ok {
		return i
	}
	c.known[key] = len(c.ops)
	c.ops = append(c.ops, o)
	return len(c.ops) - 1
}

// paths appends the ops of a crossing's longest paths.
func (c *core) paths(t *term, own []int) int {
	mix := op{kind: mixOp, constant: t.constant}
	n := len(t.terms)
	for _, way := range t.ways {
		into := make([][]int, n+1) // per part, the ops whose ends it waits for
		end := slices.Repeat([]int{-1}, n)
		start := func(i int) int {
			slices.Sort(into[i])
			into[i] = slices.Compact(into[i])
			return c.push(op{kind: maxOp, args: into[i]})
		}
		for _, l := range way.Links {
			from := 0 // the op that is zero
			if f := l[0]; f >= 0 {
				if end[f] < 0 {
					end[f] = c.push(op{kind: sumOp, args: []int{start(f), own[f]}})
				}
				from = end[f]
			}
			into[l[1]] = append(into[l[1]], from)
		}
		mix.args = append(mix.args, start(n))
		mix.share = append(mix.share, way.Probability)
	}
	return c.push(mix)
}

// seconds returns the time for given times of the variables.
func (c *core) seconds(times []float64) float64 {
	for i := range c.ops {
		o := &c.ops[i]
		v := o.constant
		switch o.kind {
		case variableOp:
			v += float64(o.factor * times[o.variable])
		case sumOp:
			for _, a := range o.args {
				v += c.value[a]
			}
		case maxOp:
			longest := 0.0
			for _, a := range o.args {
				longest = max(longest, c.value[a])
			}
			v += longest
		case mixOp:
			for k, a := range o.args {
				v += float64(o.share[k] * c.value[a])
			}
		}
		c.value[i] = v
	}
	return c.value[c.last]
}

// slopes writes how much the time rises with each variable's, at the times of the last call of seconds: how often the
// variable is on the longest way. Of equally long ways the first counts.
func (c *core) slopes(g []float64) {
	clear(g)
	clear(c.weight)
	c.weight[c.last] = 1
	for i, o := range slices.Backward(c.ops) {
		w := c.weight[i]
		if w == 0 {
			continue
		}
		switch o.kind {
		case variableOp:
			g[o.variable] += float64(w * o.factor)
		case sumOp:
			for _, a := range o.args {
				c.weight[a] += w
			}
		case maxOp:
			longest := o.args[0]
			for _, a := range o.args {
				if c.value[a] > c.value[longest] {
					longest = a
				}
			}
			c.weight[longest] += w
		case mixOp:
			for k, a := range o.args {
				c.weight[a] += float64(w * o.share[k])
			}
		}
	}
}

// plane is a lower bound of a core's time that is a sum over variables: intercept + Σ slope·time. Each plane of slopes
// touches the convex time somewhere, and so mixtures of such planes are bounds too.
type plane struct {
	rate      float64 // USD per second, for which it was made
	slope     []float64
	intercept float64
	rest      []hull // rest[i] is the hull of the fronts of variables i and later, by the plane's slopes
}

// hull is the lower convex hull of a front, times rising and prices falling.
type hull []struct{ t, c float64 }

// within returns the least time on the hull at a price of at most c, and +Inf where the whole hull is dearer.
func (h hull) within(c float64) float64 {
	n := len(h)
	if c >= h[0].c {
		return h[0].t
	}
	if c < h[n-1].c {
		return math.Inf(1)
	}
	lo, hi := 0, n-1 // h[lo].c > c >= h[hi].c
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; h[mid].c > c {
			lo = mid
		} else {
			hi = mid
		}
	}
	a, b := h[lo], h[hi]
	return a.t + float64((b.t-a.t)*((a.c-c)/(a.c-b.c)))
}

// convex returns the lower hull of a front whose times are multiplied by slope.
func convex(labels []label, slope float64) hull {
	if slope == 0 {
		last := labels[len(labels)-1]
		return hull{{0, last.c}}
	}
	var h hull
	for _, l := range labels {
		p := struct{ t, c float64 }{float64(slope * l.t), l.c}
		for len(h) > 1 {
			a, b := h[len(h)-2], h[len(h)-1]
			if (b.c-a.c)*(p.t-a.t) < (p.c-a.c)*(b.t-a.t) {
				break // b lies below the line from a to p
			}
			h = h[:len(h)-1]
		}
		h = append(h, p)
	}
	return h
}

// plus returns the hull of the sums of two: their edges, the steepest first.
func (h hull) plus(g hull) hull {
	out := make(hull, 1, len(h)+len(g)-1)
	out[0].t, out[0].c = h[0].t+g[0].t, h[0].c+g[0].c
	i, j := 0, 0
	for i+1 < len(h) || j+1 < len(g) {
		var dt, dc float64
		first := j+1 == len(g)
		if i+1 < len(h) && j+1 < len(g) {
			first = (h[i+1].c-h[i].c)*(g[j+1].t-g[j].t) < (g[j+1].c-g[j].c)*(h[i+1].t-h[i].t)
		}
		if first {
			dt, dc = h[i+1].t-h[i].t, h[i+1].c-h[i].c
			i++
		} else {
			dt, dc = g[j+1].t-g[j].t, g[j+1].c-g[j].c
			j++
		}
		last := out[len(out)-1]
		out = append(out, struct{ t, c float64 }{last.t + dt, last.c + dc})
	}
	return out
}

// finish fills in the hulls of the variables that are still free at each depth from v on.
func (p *plane) finish(vars []*stair, v int) {
	p.rest = make([]hull, len(vars)+1)
	p.rest[len(vars)] = hull{{0, 0}}
	for i := len(vars) - 1; i >= v; i-- {
		p.rest[i] = p.rest[i+1].plus(convex(vars[i].labels, p.slope[i]))
	}
}

// planes returns bounds for many rates between time and price, and tells found of every configuration that it meets. For
// each rate it maximises, over mixtures of planes, the least weighted sum of bound and price, which is a separable
// minimum. By Frank and Wolfe each step adds the plane that touches the time at the last minimum.
func (c *core) planes(found func(row []int32)) []plane {
	n := len(c.vars)
	fast, slow := make([]float64, n), make([]float64, n)
	var spread float64
	for v, s := range c.vars {
		first, last := s.labels[0], s.labels[len(s.labels)-1]
		fast[v], slow[v] = first.t, last.t
		spread += first.c - last.c
	}
	span := c.seconds(slow) - c.seconds(fast)
	if !(span > 0) || !(spread > 0) {
		span, spread = 1, 1
	}
	const rates, steps = 17, 40
	touch := make([]float64, n)
	intercept := c.touch(fast, touch)
	out := make([]plane, rates)
	for k := range out {
		rate := spread / span * math.Exp2(float64(k-rates/2))
		out[k] = plane{rate: rate, slope: slices.Clone(touch), intercept: intercept}
		c.raise(&out[k], 0, fast, steps, found)
		intercept, touch = out[k].intercept, out[k].slope
	}
	return out
}

// raise improves a plane for the values of the variables before v in times, by steps of Frank and Wolfe.
func (c *core) raise(p *plane, v int, times []float64, steps int, found func(row []int32)) {
	n := len(c.vars)
	touch, row := make([]float64, n), make([]int32, n)
	for step := range steps {
		for i := v; i < n; i++ {
			row[i] = int32(c.vars[i].least(p.slope[i] * p.rate))
			times[i] = c.vars[i].labels[row[i]].t
		}
		found(row)
		b := c.touch(times, touch)
		share := 2 / float64(step+3)
		p.intercept += float64(share * (b - p.intercept))
		for i := range p.slope {
			p.slope[i] += float64(share * (touch[i] - p.slope[i]))
		}
	}
}

// touch writes the slopes of a plane that touches the core's time at given times and returns its intercept.
func (c *core) touch(times, slope []float64) float64 {
	b := c.seconds(times)
	c.slopes(slope)
	for v, g := range slope {
		b -= float64(g * times[v])
	}
	return b
}

// least returns the label of the least rate·time + price; of equal ones the fastest.
func (s *stair) least(rate float64) int {
	best, value := 0, math.Inf(1)
	for i, l := range s.labels {
		if x := float64(rate*l.t) + l.c; x < value {
			best, value = i, x
		}
	}
	return best
}

// arrange puts the variables in the order in which the search fixes them: the one whose time matters most first.
func (c *core) arrange() {
	n := len(c.vars)
	times, slope := make([]float64, n), make([]float64, n)
	for v, s := range c.vars {
		times[v] = s.labels[len(s.labels)/2].t
	}
	c.touch(times, slope)
	order := make([]int, n)
	weight := make([]float64, n)
	for v, s := range c.vars {
		order[v] = v
		weight[v] = (slope[v] + 0.01) * (s.labels[len(s.labels)-1].t - s.labels[0].t)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	vars, place := make([]*stair, n), make([]int, n)
	for i, v := range order {
		vars[i], place[v] = c.vars[v], i
	}
	c.vars = vars
	for i := range c.ops {
		if c.ops[i].kind == variableOp {
			c.ops[i].variable = place[c.ops[i].variable]
		}
	}
}
