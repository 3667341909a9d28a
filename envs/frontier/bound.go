package frontier

import (
	"cmp"
	"math"
	"slices"
)

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
