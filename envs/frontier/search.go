package frontier

import (
	"math"
	"slices"
	"sort"
)

// search returns the front of a term that is no tree, by branch and bound: it fixes one variable after the other and
// leaves a partial configuration where no completion can be undominated by what was found. The price that a completion
// may have is bounded by the points found; the planes then bound its time from below.
func (s *solver) search(t *term) (*stair, error) {
	c, err := s.newCore(t, nil)
	if err != nil {
		return nil, err
	}
	c.arrange()
	b := &branch{core: c, solver: s, factor: 1 + s.trim, row: make([]int32, len(c.vars)), times: make([]float64, len(c.vars))}
	if s.down {
		b.factor = 1
	}
	all := make([]float64, len(c.vars))
	b.planes = c.planes(func(row []int32) {
		var usd float64
		for v, i := range row {
			all[v] = c.vars[v].labels[i].t
			usd += c.vars[v].labels[i].c
		}
		b.offer(c.seconds(all), usd, row)
	})
	for i := range b.planes {
		b.planes[i].finish(c.vars, 0)
	}
	b.sure = make([][]float64, len(c.vars)+1)
	for v := range b.sure {
		b.sure[v] = make([]float64, len(b.planes))
	}
	for k, p := range b.planes {
		b.sure[0][k] = p.intercept
	}
	b.left = make([]float64, len(c.vars)+1)
	b.left[len(c.vars)] = 1
	for v := len(c.vars) - 1; v >= 0; v-- {
		b.left[v] = b.left[v+1] * float64(len(c.vars[v].labels))
	}
	if err := b.descend(0, 0, math.Inf(-1), math.Inf(1)); err != nil {
		return nil, err
	}
	out := &stair{function: -1, vars: c.vars, rows: b.rows}
	for i, p := range b.found {
		out.labels = append(out.labels, label{p.t, p.c, int32(i), 0})
	}
	return out, nil
}

// branch is the state of a search.
type branch struct {
	*core
	solver *solver
	factor float64 // a completion counts as dominated by a point that is at most this factor worse
	planes []plane // those at hand: deeper down there are better ones
	last   int     // plane that cut last
	row    []int32
	times  []float64
	sure   [][]float64 // by the number of variables fixed, per plane: its intercept and the fixed variables
	found  []struct{ t, c float64 }
	rows   [][]int32 // of the points found
	left   []float64 // by the number of variables fixed: completions
	nodes  int
}

// Where there are more completions than refineFrom, planes are improved by so many steps.
const (
	refineFrom  = 300
	refineSteps = 6
)

// refine replaces the planes by ones that are better where the variables before v are as they are and a completion costs
// between lo and hi.
func (b *branch) refine(v int, usd, lo, hi float64) {
	// A plane matters if the cheapest completions at its rate, or at the next rates, cost that much. Prices rise with rates.
	at := make([]float64, len(b.planes))
	for k, p := range b.planes {
		at[k] = usd
		for i := v; i < len(b.vars); i++ {
			labels := b.vars[i].labels
			at[k] += labels[b.vars[i].least(p.slope[i]*p.rate)].c
		}
	}
	times := slices.Clone(b.times)
	found := func(row []int32) {
		c := usd
		for i := v; i < len(row); i++ {
			c += b.vars[i].labels[row[i]].c
		}
		copy(row, b.row[:v])
		b.offer(b.seconds(times), c, row)
	}
	var planes []plane
	for k, p := range b.planes {
		if at[min(k+1, len(at)-1)] < lo || at[max(k-1, 0)] > hi {
			continue
		}
		p = plane{rate: p.rate, slope: slices.Clone(p.slope), intercept: p.intercept}
		b.raise(&p, v, times, refineSteps, found)
		p.finish(b.vars, v)
		planes = append(planes, p)
	}
	if len(planes) > 0 {
		b.planes, b.last = planes, 0
		b.restore(v)
	}
}

// restore fills in what the planes are sure of with the variables before each one up to v fixed.
func (b *branch) restore(v int) {
	for k, p := range b.planes {
		s := p.intercept
		for i := range v {
			s += float64(p.slope[i] * b.times[i])
		}
		b.sure[v][k] = s
	}
}

// offer adds a configuration to those found, unless it is dominated, and removes those that it dominates.
func (b *branch) offer(t, c float64, row []int32) {
	i := sort.Search(len(b.found), func(i int) bool { return b.found[i].t > t*(1+tie) })
	if i > 0 && b.found[i-1].c <= c*(1+tie) {
		return
	}
	// It goes before i; those from there on that are not cheaper go, and one of equal time before it.
	from, to := i, i
	for from > 0 && b.found[from-1].t >= t*(1-tie) {
		from--
	}
	for to < len(b.found) && b.found[to].c >= c*(1-tie) {
		to++
	}
	b.found = slices.Replace(b.found, from, to, struct{ t, c float64 }{t, c})
	b.rows = slices.Replace(b.rows, from, to, slices.Clone(row))
}

// descend tries the values of variable v. usd is the price of the variables fixed; a completion that matters costs
// between lo and hi in all.
func (b *branch) descend(v int, usd, lo, hi float64) error {
	if b.nodes++; b.nodes&1023 == 0 {
		if err := b.solver.ctx.Err(); err != nil {
			return err
		}
	}
	if v == len(b.vars)-1 {
		b.finish(v, usd)
		return nil
	}
	if v > 0 && b.left[v] > refineFrom {
		planes := b.planes
		defer func() {
			b.planes, b.last = planes, 0
			b.restore(v)
		}()
		b.refine(v, usd, lo, hi)
		var alive bool
		if lo, hi, alive = b.alive(v, usd, lo, hi); !alive {
			return nil
		}
	}
	for i, l := range b.vars[v].labels {
		b.row[v], b.times[v] = int32(i), l.t
		for k := range b.planes {
			b.sure[v+1][k] = b.sure[v][k] + float64(b.planes[k].slope[v]*l.t)
		}
		if lo, hi, alive := b.alive(v+1, usd+l.c, lo, hi); alive {
			if err := b.descend(v+1, usd+l.c, lo, hi); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish tries the values of the last variable, the slowest first. Once the time falls no more, faster ones are dearer.
func (b *branch) finish(v int, usd float64) {
	labels := b.vars[v].labels
	b.times[v] = labels[0].t
	least := b.seconds(b.times)
	for i, l := range slices.Backward(labels) {
		b.row[v], b.times[v] = int32(i), l.t
		t := b.seconds(b.times)
		b.offer(t, usd+l.c, b.row)
		if t <= least {
			return
		}
	}
}

// alive narrows the prices lo to hi of completions that may be undominated, with the variables before v fixed at a price
// of usd. A completion is undominated only if, for two neighbours among the points found, it is cheaper than the first
// and faster than the second.
func (b *branch) alive(v int, usd, lo, hi float64) (float64, float64, bool) {
	n := len(b.found)
	price := func(j int) float64 { // what undominated points before point j cost less than
		if j == 0 {
			return math.Inf(1)
		}
		return b.found[j-1].c
	}
	faster := func(j int) bool {
		limit := math.Inf(1)
		if j < n {
			limit = b.found[j].t
		}
		return !b.cut(v, min(price(j), hi)/b.factor-usd, limit/b.factor)
	}
	// A gap between points found has the number of the point after it. Prices fall. The first gap may reach beyond hi.
	j := sort.Search(n+1, func(j int) bool { return price(j) < hi }) - 1
	for j <= n && price(j) > lo && !faster(j) {
		j++
	}
	if j > n || price(j) <= lo {
		return 0, 0, false
	}
	hi = min(price(j), hi)
	k := sort.Search(n+1, func(j int) bool { return price(j) <= lo }) - 1
	for k > j && !faster(k) {
		k--
	}
	if k < n {
		lo = b.found[k].c
	} else {
		lo = math.Inf(-1)
	}
	return lo, hi, true
}

// cut reports whether no completion costs at most usd and takes less than a number of seconds.
func (b *branch) cut(v int, usd, seconds float64) bool {
	for range b.planes {
		p := &b.planes[b.last]
		if b.sure[v][b.last]+p.rest[v].within(usd) >= seconds*(1-tie) {
			return true
		}
		b.last = (b.last + 1) % len(b.planes)
	}
	return false
}
