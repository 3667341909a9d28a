package steps

import (
	"cmp"
	"slices"
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
func (m *Model) front(step int) []Option {
	if m.Free(step) {
		wait := m.Steps[step].Wait
		return []Option{{Mean: wait, P50: wait, P90: wait}}
	}
	var all []Option
	var f forecast
	for _, c := range m.likely(step) {
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
func (m *Model) likely(step int) []configuration {
	p := &m.Platform
	var all []rough
	for _, mb := range p.Memory {
		for n := 1; n <= m.MostInstances(step, mb); n++ {
			c := configuration{mb, n, m.MostProcesses(step, mb, n)}
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
