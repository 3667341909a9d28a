package steps

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/stoker-rl/stoker/rng/portable"
)

// Full returns all configurations of a step that the platform allows, by memory, instances, processes. They are worked
// out when they are first asked for.
func (m *Model) Full(step int) []Option {
	set := &m.full[step]
	set.once.Do(func() {
		if m.Free(step) {
			set.options = m.Options[step]
			return
		}
		var f forecast
		for _, mb := range m.Platform.Memory {
			for p := 1; p <= m.MostInstances(step, mb); p++ {
				for q := 1; q <= m.MostProcesses(step, mb, p); q++ {
					set.options = append(set.options, m.evaluate(&f, step, configuration{mb, p, q}))
				}
			}
		}
	})
	return set.options
}

// front returns the options of a step that no other one beats in P90 and price, at most mostOptions. More processes never
// make a step slower or dearer, so only the most are looked at.
func (m *Model) front(step int) []Option { return m.Within(step, math.MaxInt) }

// Within returns the front of the options whose instances together take at most so many of a cluster's cores; where none
// takes so few, that of one instance of the smallest size.
func (m *Model) Within(step, cores int) []Option {
	if m.Free(step) {
		wait := m.Steps[step].Wait
		return []Option{{Mean: wait, P50: wait, P90: wait}}
	}
	var all []Option
	var f forecast
	for _, c := range m.likely(step, cores) {
		all = append(all, m.evaluate(&f, step, c))
	}
	return thin(undominated(all))
}

// rough is a configuration with its time and price if nothing varied.
type rough struct {
	configuration
	seconds, usd float64
}

// nearly is how far from the rough front a configuration can be and yet be on the front, as a share of its time.
const nearly = 0.08

// likely returns the configurations near the front that there would be if nothing varied.
func (m *Model) likely(step, cores int) []configuration {
	p := &m.Platform
	var all []rough
	for _, mb := range p.Memory {
		for n := 1; n <= m.MostInstances(step, mb); n++ {
			c := configuration{mb, n, m.MostProcesses(step, mb, n)}
			if n*p.CoresOf(mb) > cores && len(all) > 0 {
				break
			}
			if m.fitted != nil { // its predictions take no time
				all = append(all, rough{configuration: c})
				continue
			}
			t := p.times(&m.Steps[step], c)
			s := float64(p.waves(n)*p.run(&t, 0).mean) + p.mapping(n)
			all = append(all, rough{c, s, p.price(c, s, t.meanRun())})
		}
	}
	slices.SortFunc(all, func(a, b rough) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.usd, b.usd))
	})
	// An option is left out where another one, quicker by a margin, is no dearer by that margin either.
	var out []configuration
	least, k := all[0].usd, 0
	for _, o := range all {
		for ; all[k].seconds < o.seconds*(1-nearly); k++ {
			least = min(least, all[k].usd)
		}
		if k == 0 || o.usd < least*(1+nearly/8) {
			out = append(out, o.configuration)
		}
	}
	return out
}

// mapping is the time until the last of some cold instances has started, if nothing varied.
func (p *Platform) mapping(n int) float64 {
	if p.Formula {
		return Mapping(n, 0)
	}
	return p.ColdStart + float64(p.StartEvery*float64(n))
}

// Saved is about the time in seconds that warm instances take off the time of a step of n instances.
func (p *Platform) Saved(n, warm int) float64 {
	if p.Formula {
		return Mapping(n, 0) - Mapping(n, warm)
	}
	if p.Together > 0 {
		n = min(n, p.Together)
	}
	if warm < n {
		return float64(p.StartEvery * float64(warm))
	}
	return p.mapping(n)
}

// waves is how many times as many instances as may run together a step has, rounded up.
func (p *Platform) waves(n int) float64 {
	if p.Together == 0 {
		return 1
	}
	return float64((n + p.Together - 1) / p.Together)
}

// undominated returns the options that no other one beats in P90 and USD, times ascending.
func undominated(all []Option) []Option {
	slices.SortFunc(all, func(a, b Option) int {
		return cmp.Or(cmp.Compare(a.P90, b.P90), cmp.Compare(a.USD, b.USD))
	})
	out := all[:0]
	for _, o := range all {
		if len(out) == 0 || o.USD < out[len(out)-1].USD {
			out = append(out, o)
		}
	}
	return slices.Clip(out)
}

// thin leaves options out until there are at most mostOptions: each time the one whose absence costs least, as the
// product of the relative steps in time and price to its neighbours. The ends stay.
func thin(front []Option) []Option {
	for len(front) > mostOptions {
		drop, least := 0, 0.0
		for i := 1; i+1 < len(front); i++ {
			a, o, b := &front[i-1], &front[i], &front[i+1]
			loss := (b.P90 - o.P90) / o.P90 * ((a.USD - o.USD) / o.USD)
			if drop == 0 || loss < least {
				drop, least = i, loss
			}
		}
		front = slices.Delete(front, drop, drop+1)
	}
	return front
}

// numLevels is the number of plans in [levels].
const numLevels = 24

// levels are plans of a whole workflow, from the cheapest to the quickest. Plan k is that of the least expected price
// plus rate k times the expected time of a request (the Lagrangian of the least price within a time): each step has the
// option with the least runs·price + rate·critical·seconds, where critical is the share of requests whose longest path
// passes the step. These shares are found by averaging longest paths (the subgradient method). The last plan has each
// step's quickest option.
type levels struct {
	plans [numLevels]plan
	from  [][]arm // the edges that lead to each step
}

// lazyLevels are made when they are asked for.
type lazyLevels struct {
	once sync.Once
	levels
}

// plan is an option for each step, and what follows from them.
type plan struct {
	option []int
	// By step: its mean time in seconds, the variance of its time, its price in USD.
	seconds, variance, usd []float64
	// By step: mean and variance of the time from its end to the end of the request, along the longest path.
	after, afterVariance []float64
}

// arm is an edge from a step; p is 0 where it is always taken.
type arm struct {
	step int
	p    float64
}

func newPlan(n int) plan {
	x := make([]float64, 5*n)
	at := func(i int) []float64 { return x[i*n : (i+1)*n : (i+1)*n] }
	return plan{option: make([]int, n), seconds: at(0), variance: at(1), usd: at(2), after: at(3), afterVariance: at(4)}
}

// variance is that of an option's time, from its quantiles as if it were normal.
func (o *Option) variance() float64 {
	sd := max(o.P90-o.P50, 0) / deviations
	return float64(sd * sd)
}

// levels returns the workflow's plans.
func (m *Model) levels() *levels {
	m.ahead.once.Do(func() { m.ahead.make(m) })
	return &m.ahead.levels
}

// rounds is the number of longest paths that are averaged.
const rounds = 24

func (l *levels) make(m *Model) {
	n := m.NumSteps()
	l.from = make([][]arm, n)
	for s, edges := range m.edges {
		for _, e := range edges {
			if e.to >= 0 {
				l.from[e.to] = append(l.from[e.to], arm{s, e.p})
			}
		}
	}
	rates, critical, path := m.rates(), make([]float64, n), make([]float64, n)
	for k := range l.plans {
		p := &l.plans[k]
		*p = newPlan(n)
		if k == numLevels-1 {
			p.set(m, math.Inf(1), nil)
			continue
		}
		copy(critical, m.Runs)
		for round := range rounds {
			p.set(m, rates[k], critical)
			p.longest(m, path)
			for s := range critical {
				critical[s] += (path[s] - critical[s]) / float64(round+2)
			}
		}
		p.set(m, rates[k], critical)
		l.relax(m, p)
	}
}

// relax gives steps off the longest path cheaper options, as far as the path stays the longest. Steps behind a branch
// are left as they are: they lengthen the expected time.
func (l *levels) relax(m *Model, p *plan) {
	begin := make([]float64, len(p.option))
	whole := p.seconds[m.Flow.Entry()] + p.after[m.Flow.Entry()]
	for _, s := range m.Flow.Order() {
		for _, a := range l.from[s] {
			begin[s] = max(begin[s], begin[a.step]+p.seconds[a.step])
		}
		if m.Runs[s] < 1 {
			continue
		}
		room := whole - begin[s] - p.after[s]
		for i, o := range slices.Backward(m.Options[s]) { // dearer and quicker ones come before
			if o.USD >= p.usd[s] {
				break
			}
			if o.Mean <= room {
				p.take(m, s, i)
				break
			}
		}
	}
	p.finish(m)
}

// rates returns a rate in USD per second for each plan but the last: at these, steps change their option. They lie
// between an even division of the range of such rates and one of their number.
func (m *Model) rates() []float64 {
	var all []float64
	for s, options := range m.Options {
		for i := 0; i < len(options)-1; {
			steepest, to := 0.0, len(options)
			for j := i + 1; j < len(options); j++ {
				longer := options[j].Mean - options[i].Mean
				if saved := options[i].USD - options[j].USD; longer > 0 && saved/longer > steepest {
					steepest, to = saved/longer, j
				}
			}
			if i = to; to < len(options) {
				all = append(all, float64(steepest*m.Runs[s]))
			}
		}
	}
	out := make([]float64, numLevels-1)
	if len(all) == 0 {
		return out
	}
	slices.Sort(all)
	low, high := all[0]*0.9, all[len(all)-1]*1.1
	for k := range out {
		x := float64(k) / float64(len(out)-1)
		even := float64(low * portable.Exp(x*portable.Log(high/low)))
		out[k] = math.Sqrt(even * all[int(x*float64(len(all)-1))])
	}
	out[0] = low
	return out
}

// set chooses the plan's options at a rate and works out what follows; an infinite rate takes the quickest ones.
func (p *plan) set(m *Model, rate float64, critical []float64) {
	for s, options := range m.Options {
		best, least := 0, math.Inf(1)
		for i := 0; i < len(options) && !math.IsInf(rate, 1); i++ {
			o := &options[i]
			if v := float64(m.Runs[s]*o.USD) + float64(float64(rate*critical[s])*o.Mean); v < least {
				best, least = i, v
			}
		}
		p.take(m, s, best)
	}
	p.finish(m)
}

func (p *plan) take(m *Model, s, option int) {
	o := &m.Options[s][option]
	p.option[s], p.seconds[s], p.variance[s], p.usd[s] = option, o.Mean, o.variance(), o.USD
}

// finish works out what comes after each step.
func (p *plan) finish(m *Model) {
	for _, s := range slices.Backward(m.Flow.Order()) {
		p.follow(m, s)
	}
}

// follow works out what comes after a step: the longest of the paths that are taken together, or the mean of those of
// which one is taken.
func (p *plan) follow(m *Model, s int) {
	var mean, variance float64
	for _, e := range m.edges[s] {
		if e.to < 0 {
			continue
		}
		t, v := p.seconds[e.to]+p.after[e.to], p.variance[e.to]+p.afterVariance[e.to]
		switch {
		case e.p > 0:
			mean, variance = mean+float64(e.p*t), variance+float64(e.p*v)
		case t > mean:
			mean, variance = t, v
		}
	}
	p.after[s], p.afterVariance[s] = mean, variance
}

// longest writes per step the share of requests whose longest path passes it.
func (p *plan) longest(m *Model, share []float64) {
	clear(share)
	share[m.Flow.Entry()] = 1
	for _, s := range m.Flow.Order() {
		on, most := -1, -1.0
		for _, e := range m.edges[s] {
			switch {
			case e.to < 0:
			case e.p > 0:
				share[e.to] += float64(e.p * share[s])
			case p.seconds[e.to]+p.after[e.to] > most:
				on, most = e.to, p.seconds[e.to]+p.after[e.to]
			}
		}
		if on >= 0 {
			share[on] += share[s]
		}
	}
}
