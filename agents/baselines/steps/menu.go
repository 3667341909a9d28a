package steps

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/stoker-rl/stoker/envs/steps"
)

// choice is an option of a step with its predicted time and price.
type choice struct {
	code    int // as a Decider returns it
	option  steps.Option
	seconds float64 // at the decider's quantile, from cold
}

// menu is what a decider may choose for a step: ascending times, falling prices. Of options that are no faster and no
// cheaper than another one none is there.
type menu []choice

// Parallelism restricts the options that a decider chooses among. Zeros leave them free.
type Parallelism struct {
	// Instances and Processes are the numbers that every step has. A step that cannot have so many has the most that it
	// can have below.
	Instances int
	Processes int
}

// allows returns the options of a step that are allowed, in the model's order. Without restriction they are those on the
// step's front, for no other one is ever better: another one is as fast and cheaper, or as cheap and faster.
func (p Parallelism) allows(m *steps.Model, step int) []choice {
	var out []choice
	if p == (Parallelism{}) || m.Free(step) {
		for i, o := range m.Options[step] {
			out = append(out, choice{code: i, option: o})
		}
		return out
	}
	for _, mb := range m.Platform.Memory {
		from, to := span(p.Instances, m.MostInstances(step, mb))
		for n := from; n <= to; n++ {
			first, last := span(p.Processes, m.MostProcesses(step, mb, n))
			for q := first; q <= last; q++ {
				if code, err := m.Pack(step, mb, n, q); err == nil {
					out = append(out, choice{code: code, option: m.Option(step, code)})
				}
			}
		}
	}
	return out
}

// span returns the numbers that are allowed: fixed, or as many as there can be, or all up to most.
func span(fixed, most int) (from, to int) {
	if fixed == 0 {
		return 1, most
	}
	return min(fixed, most), min(fixed, most)
}

// newMenu returns the options that are allowed, with times at a quantile.
func newMenu(m *steps.Model, step int, p Parallelism, quantile float64) menu {
	all := p.allows(m, step)
	for i := range all {
		all[i].seconds = m.Seconds(step, all[i].code, quantile, 0)
	}
	return staircase(all)
}

// staircase sorts options by time and drops those that are no cheaper than a faster one.
func staircase(all []choice) menu {
	return undominated(all, func(c *choice) (seconds, usd float64) { return c.seconds, c.option.USD })
}

// undominated sorts what has a time and a price by time and drops what is no cheaper than something faster. It changes all.
func undominated[T any](all []T, of func(*T) (seconds, usd float64)) []T {
	slices.SortStableFunc(all, func(a, b T) int {
		s, usd := of(&a)
		t, other := of(&b)
		return cmp.Or(cmp.Compare(s, t), cmp.Compare(usd, other))
	})
	out, least := all[:0], 0.0
	for _, x := range all {
		if _, usd := of(&x); len(out) == 0 || usd < least {
			out, least = append(out, x), usd
		}
	}
	return slices.Clip(out)
}

// below returns the place of the cheapest option of less than so many seconds, -1 where there is none.
func (l menu) below(seconds float64) int {
	return sort.Search(len(l), func(i int) bool { return l[i].seconds >= seconds }) - 1
}

// within returns the cheapest option of less than so many seconds, the fastest where there is none.
func (l menu) within(seconds float64) choice { return l[max(0, l.below(seconds))] }

// fastest is the menu's first option.
func (l menu) fastest() choice { return l[0] }

// everything returns all configurations of a step that the platform allows.
func everything(m *steps.Model, step int) (out []choice) {
	for _, o := range m.Full(step) {
		if code, err := m.Pack(step, o.MB, o.Instances, o.Processes); err == nil || m.Free(step) {
			out = append(out, choice{code: code, option: o})
		}
	}
	return out
}

// Idle warm instances make a step faster, and cheaper where mapping is billed. Deciders plan without them, since they may
// be gone before a later step; for the step that is decided now they are known.

// anyWarm reports whether a step has idle warm instances.
func anyWarm(at *steps.Moment, step int) bool {
	return step < len(at.Warm) && slices.ContainsFunc(at.Warm[step], func(n int) bool { return n > 0 })
}

// warmed returns the place of the cheapest option of a step that takes less than so many seconds with the warm instances
// that there are, of the fastest where there is none.
func (l menu) warmed(p *steps.Platform, at *steps.Moment, step int, seconds float64) int {
	best, fastest := -1, -1
	var least, quickest float64
	for i := range l {
		o := &l[i].option
		t, usd := l[i].seconds, o.USD
		for k, mb := range p.Memory {
			if mb == o.MB && at.Warm[step][k] > 0 {
				s := p.Saved(o.Instances, at.Warm[step][k])
				t -= s
				if p.BillMapping {
					usd -= float64(float64(o.Instances*o.MB) / 1024 * p.USDPerGBSecond * s)
				}
			}
		}
		if t < seconds && (best < 0 || usd < least) {
			best, least = i, usd
		}
		if fastest < 0 || t < quickest {
			fastest, quickest = i, t
		}
	}
	if best < 0 {
		return fastest
	}
	return best
}

// tables keeps what a decider worked out, such as for workflows, for as long as there are few of them: what is worked out
// follows from the key alone, so nothing depends on what is kept.
type tables[K comparable, T any] struct {
	make func(K) T
	kept map[K]T
}

// mostTables bounds the workflows that are kept.
const mostTables = 128

func (t *tables[K, T]) of(key K) T {
	if x, ok := t.kept[key]; ok {
		return x
	}
	if t.kept == nil || len(t.kept) >= mostTables {
		t.kept = make(map[K]T, mostTables)
	}
	x := t.make(key)
	t.kept[key] = x
	return x
}

// What a planner knows of the steps that share a cluster's cores.
const (
	// NoCap plans as if every step ran alone.
	NoCap = "none"
	// Siblings leaves a step the options that fit into its share of the cores.
	Siblings = "siblings"
	// Scheduled predicts by a schedule of all steps when instances find room ([steps.Schedule]), and looks for the plan of
	// the rest that is best by it ([steps.SharedPlanner]).
	Scheduled = "schedule"
)

// share is how many of a cluster's cores a step may take that is decided now: the steps that are ready share those that
// nobody holds or waits for, and no step gets less than an even part for all that run side by side.
func share(m *steps.Model, at *steps.Moment, step int) int {
	if !m.SharesCluster() {
		return math.MaxInt
	}
	all, beside := m.Platform.AllCores(), 0
	free := all
	for i := range at.Runs {
		r := &at.Runs[i]
		free -= (r.Started + r.Queued) * r.Cores
	}
	for s, state := range at.State {
		if s != step && (state == steps.Running || state == steps.Ready && at.Choice[s] < 0) {
			beside++
		}
	}
	return max(free/max(len(at.Ready), 1), all/(beside+1), 1)
}

// fitting returns the place of an option of at most so many cores: i where it is one, else the first that is slower, else
// that of the fewest cores.
func (l menu) fitting(p *steps.Platform, i, cores int) int {
	least, fewest := i, math.MaxInt
	for ; i < len(l); i++ {
		n := l[i].option.Instances * p.CoresOf(l[i].option.MB)
		if n <= cores {
			return i
		}
		if n < fewest {
			least, fewest = i, n
		}
	}
	return least
}

// inLimit is the aim of keeping the limit at so many deviations above the mean, by as little as may be missing, and then of
// the least price; after the limit it is the price alone.
func inLimit(z float64) steps.Aim {
	return func(at *steps.Moment, c *steps.Course) float64 {
		if over := c.At(z) - at.SLO; over > 0 && at.Now < at.SLO {
			return overLimit * (1 + over)
		}
		return c.USD
	}
}

// overLimit is dearer than any request.
const overLimit = 1e12

// expected is the aim of the least price, where an end after the limit costs a multiple of the request's price of a miss.
func expected(miss float64) steps.Aim {
	return func(at *steps.Moment, c *steps.Course) float64 { return c.USD + float64(at.Miss*miss*c.Late(at.SLO)) }
}
