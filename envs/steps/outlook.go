package steps

import (
	"math"
	"slices"
)

// Prospect is what an option of a step is likely to come to, with the plan for the rest that suits it best.
type Prospect struct {
	// USD is the expected price of the option and of what is not decided yet, and that of a miss times Late.
	USD float64
	// Late is the probability that the request ends after its limit.
	Late float64
	// Rest is the expected price of what is not decided yet, without this step.
	Rest float64
	// Spare is the time in seconds from the expected end of the path through the step to the limit.
	Spare float64
	// Seconds is the option's mean time, warm instances taken into account.
	Seconds float64
}

// Outlook looks ahead from a decision moment. The rest of the workflow follows one of a few plans made beforehand, from
// the cheapest to the quickest (the plans of the relaxed problem in which time has a price), and nothing is decided
// anew later. Times are taken as independent and normal, so prospects are estimates: real tails are longer, and later
// decisions can do better. To allow for later decisions, half of the variance of later steps is left out. An Outlook
// belongs to one goroutine and does not allocate after the first use.
type Outlook struct {
	m     *Model
	l     *levels
	runs  []float64          // how likely each step is to run, from what is known
	rest  [numLevels]float64 // price of the rest, by plan
	other [numLevels]float64 // probability that the paths beside the step's end in time
}

// Begin takes a workflow.
func (o *Outlook) Begin(m *Model) {
	o.m, o.l = m, m.levels()
	o.runs = slices.Grow(o.runs[:0], m.NumSteps())[:m.NumSteps()]
}

// Look appends the prospects of the options on a ready step's front.
func (o *Outlook) Look(dst []Prospect, at *Moment, step int) []Prospect {
	o.plan(at, step)
	from := 0
	for i := range o.m.Options[step] {
		dst = append(dst, o.prospect(at, step, i, &from, i == 0))
	}
	return dst
}

// LookAt appends the prospects of some options on a ready step's front, which ascend and may be there several times.
func (o *Outlook) LookAt(dst []Prospect, at *Moment, step int, options []int) []Prospect {
	o.plan(at, step)
	from := 0
	for k, i := range options {
		if k > 0 && i == options[k-1] {
			dst = append(dst, dst[len(dst)-1])
			continue
		}
		dst = append(dst, o.prospect(at, step, i, &from, k == 0))
	}
	return dst
}

// plan works the plans out beside a step.
func (o *Outlook) plan(at *Moment, step int) {
	o.expect(at)
	for k := range o.l.plans {
		o.others(at, step, k)
	}
}

// expect works out how likely each step is to run.
func (o *Outlook) expect(at *Moment) {
	for _, s := range o.m.Flow.Order() {
		switch at.State[s] {
		case Waiting:
			o.runs[s] = o.waiting(at, s)
		case Skipped:
			o.runs[s] = 0
		default:
			o.runs[s] = 1
		}
	}
}

func (o *Outlook) waiting(at *Moment, s int) float64 {
	if len(o.l.from[s]) == 0 {
		return 1
	}
	var always, one float64
	for _, a := range o.l.from[s] {
		switch r := o.runs[a.step]; {
		case a.p == 0:
			always = max(always, r)
		case at.State[a.step] != Done: // else the branch led elsewhere
			one += float64(a.p * r)
		}
	}
	return min(1, max(always, one))
}

// others works out plan k beside a step: the price of the undecided steps, and how likely other paths are to end in
// time.
func (o *Outlook) others(at *Moment, step, k int) {
	p := &o.l.plans[k]
	left := at.SLO - at.Now
	rest, in := 0.0, 1.0
	for s, state := range at.State {
		switch {
		case s == step:
		case state == Waiting:
			rest += float64(o.runs[s] * p.usd[s])
		case state == Ready && at.Choice[s] < 0:
			rest += p.usd[s]
			in *= inTime(left-p.seconds[s]-p.after[s], p.variance[s]+p.afterVariance[s])
		case (state == Ready || state == Running) && at.Choice[s] < len(o.m.Options[s]):
			c := &o.m.Options[s][at.Choice[s]]
			remains := c.Mean
			if state == Running {
				remains = max(c.Mean-(at.Now-at.Begun[s]), c.Mean/10)
			}
			in *= inTime(left-remains-p.after[s], c.variance()+p.afterVariance[s])
		}
	}
	o.rest[k], o.other[k] = rest, in
}

// recourse is the part of the variance of what follows the step that counts: later decisions make up for the rest. It was
// chosen on workflows below 5,000, where requests then cost 1 to 2 % less at equal misses on chains of 8.
const recourse = 0.5

// patience is after how many worse plans in a row the search ends.
const patience = 2

// prospect is that of an option with the plan that makes it cheapest. All plans are tried where all is set, for the first option asked for. For
// others they are searched downhill from the one that suited the option before, *from, since slower options want a
// quicker rest; the cheapest plan, which gives the limit up, is tried too.
func (o *Outlook) prospect(at *Moment, step, option int, from *int, all bool) Prospect {
	c := &o.m.Options[step][option]
	seconds := c.Mean - o.saved(at, step, c)
	left, variance := at.SLO-at.Now-seconds, c.variance()
	best, first := o.with(at, c, step, *from, left, variance), *from
	for _, by := range [2]int{1, -1} {
		for k, worse := first+by, 0; k >= 0 && k < numLevels && (worse < patience || all); k += by {
			if p := o.with(at, c, step, k, left, variance); p.USD <= best.USD { // neighbours can be the same plan
				best, *from, worse = p, k, 0
			} else {
				worse++
			}
		}
	}
	if none := o.with(at, c, step, 0, left, variance); none.USD < best.USD {
		best = none
	}
	best.Seconds = seconds
	return best
}

// with is the prospect of an option with plan k, where the option leaves some seconds.
func (o *Outlook) with(at *Moment, c *Option, step, k int, left, variance float64) Prospect {
	p := &o.l.plans[k]
	spare := left - p.after[step]
	late := 1 - float64(o.other[k]*inTime(spare, variance+float64(recourse*p.afterVariance[step])))
	return Prospect{USD: c.USD + o.rest[k] + float64(at.Miss*late), Late: late, Rest: o.rest[k], Spare: spare}
}

// saved is the time in seconds that warm instances take off an option's mean time.
func (o *Outlook) saved(at *Moment, step int, c *Option) float64 {
	if len(at.Warm) == 0 || len(at.Warm[step]) == 0 || c.Instances == 0 {
		return 0
	}
	k, ok := slices.BinarySearch(o.m.Platform.Memory, c.MB)
	if !ok || at.Warm[step][k] == 0 {
		return 0
	}
	return o.m.Platform.Saved(c.Instances, at.Warm[step][k])
}

// inTime is the probability that a normal time with a variance exceeds its mean by at most some seconds.
func inTime(spare, variance float64) float64 {
	if variance > 0 {
		return phi(spare / math.Sqrt(variance))
	}
	if spare < 0 {
		return 0
	}
	return 1
}

// phi is the standard normal distribution function within 1e-4, by a table.
func phi(z float64) float64 {
	x := float64((z + phiEnd) * phiSteps)
	if !(x > 0) {
		return 0
	}
	i := int(x)
	if i >= len(phis)-1 {
		return 1
	}
	return phis[i] + float64((x-float64(i))*(phis[i+1]-phis[i]))
}

const (
	phiEnd   = 5
	phiSteps = 64 // a unit
)

var phis = func() (t [2*phiEnd*phiSteps + 1]float64) {
	for i := range t {
		if z := float64(float64(i)/phiSteps) - phiEnd; z < 0 {
			t[i] = upper(-z)
		} else {
			t[i] = 1 - upper(z)
		}
	}
	return t
}()

// ahead is what is known of a workflow beforehand, beside the plans of [levels].
type ahead struct {
	// Per step the time in seconds at P90 from its begin to the request's end on the longest path: with every step's
	// fastest option, and with Best.
	quickest, best []float64
	usd            []float64 // per step: expected price of Best
	// What is seen of each step's tasks, and of the memory, instances and processes of its options: logarithms.
	tasks []float32
	sizes [][][3]float32
	// Per plan of levels its longest path at P90 and its expected price: times ascending, prices falling.
	seconds, price []float64
}

// ahead works it out.
func (m *Model) lookAhead() *ahead {
	n := m.NumSteps()
	a := &ahead{quickest: make([]float64, n), best: make([]float64, n), usd: make([]float64, n)}
	own := make([]float64, n)
	for s := range n {
		own[s] = m.Options[s][0].P90
	}
	m.tails(own, a.quickest)
	for s := range n {
		o := &m.Options[s][m.Best[s]]
		own[s], a.usd[s] = o.P90, float64(m.Runs[s]*o.USD)
	}
	m.tails(own, a.best)
	for s := range n {
		a.tasks = append(a.tasks, high(float64(m.Steps[s].Tasks)))
		sizes := make([][3]float32, len(m.Options[s]))
		for i, o := range m.Options[s] {
			sizes[i] = [3]float32{high(float64(o.MB) / 1024), high(float64(o.Instances)), high(float64(o.Processes))}
		}
		a.sizes = append(a.sizes, sizes)
	}
	l := m.levels()
	for k := range slices.Backward(l.plans[:]) {
		usd := 0.0
		for s, i := range l.plans[k].option {
			own[s] = m.Options[s][i].P90
			usd += float64(m.Runs[s] * m.Options[s][i].USD)
		}
		seconds, last := m.Longest(own), len(a.price)-1
		if last < 0 || seconds > a.seconds[last] && usd < a.price[last] {
			a.seconds, a.price = append(a.seconds, seconds), append(a.price, usd)
		}
	}
	return a
}

// tails writes the longest time from each step's begin to the request's end, where steps take own seconds.
func (m *Model) tails(own, out []float64) {
	for _, s := range slices.Backward(m.Flow.Order()) {
		after := 0.0
		for _, e := range m.edges[s] {
			if e.to >= 0 {
				after = max(after, out[e.to])
			}
		}
		out[s] = own[s] + after
	}
}

// relaxed is about the least expected price at which a request keeps an SLO at P90: on straight lines between the plans,
// which near the quickest plan can be below what any configuration reaches.
func (a *ahead) relaxed(slo float64) float64 {
	k, _ := slices.BinarySearch(a.seconds, slo)
	switch {
	case k == 0:
		return a.price[0]
	case k == len(a.seconds):
		return a.price[k-1]
	}
	part := (slo - a.seconds[k-1]) / (a.seconds[k] - a.seconds[k-1])
	return a.price[k-1] + float64(part*(a.price[k]-a.price[k-1]))
}
