package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func compiled(t *testing.T, preset string) *Model {
	t.Helper()
	a := must.Get(Preset(preset))(t)
	m := must.Get(a.Compile())(t)
	return m
}

// first is the moment before a request's first step.
func first(m *Model, slo, miss float64) *Moment {
	n := m.NumSteps()
	at := &Moment{SLO: slo, Miss: miss, Ready: []int{m.Flow.Entry()}, State: make([]State, n), Choice: make([]int, n),
		Begun: make([]float64, n), Done: make([]float64, n)}
	for s := range at.Choice {
		at.Choice[s] = -1
	}
	at.State[m.Flow.Entry()] = Ready
	return at
}

// The plans go from the cheapest to the quickest, and each is the cheapest of its time, or near it: no plan of all
// options of a chain, found by enumeration, is both quicker and 3 % cheaper.
func TestLevels(t *testing.T) {
	m := compiled(t, "chain")
	l := m.levels()
	last, before := math.Inf(1), 0.0
	for k := range l.plans {
		p := &l.plans[k]
		usd, seconds := 0.0, 0.0
		for s := range p.option {
			usd, seconds = usd+p.usd[s], seconds+p.seconds[s]
		}
		if got := p.seconds[m.Flow.Entry()] + p.after[m.Flow.Entry()]; math.Abs(got-seconds) > 1e-9 {
			t.Errorf("plan %d takes %g s by its path, want the sum of the steps' times, %g", k, got, seconds)
		}
		if seconds > last || usd < before {
			t.Errorf("plan %d takes %.1f s and %.6f USD, the one before %.1f s and %.6f USD: want it quicker and dearer", k,
				seconds, usd, last, before)
		}
		last, before = seconds, usd
		if k == numLevels-1 {
			continue // the quickest at any price
		}
		if best := cheapest(m, seconds); usd > 1.03*best {
			t.Errorf("plan %d costs %.6f USD in %.1f s, want about %.6f", k, usd, seconds, best)
		}
	}
}

// cheapest is the least price of three steps in a row within a time.
func cheapest(m *Model, seconds float64) float64 {
	best := math.Inf(1)
	for _, a := range m.Options[0] {
		for _, b := range m.Options[1] {
			for _, c := range m.Options[2] {
				if a.Mean+b.Mean+c.Mean <= seconds+1e-9 {
					best = min(best, a.USD+b.USD+c.USD)
				}
			}
		}
	}
	return best
}

// Off the longest path a step is not paid to be quick: in the diamond the plans' parallel steps end at about the same
// time, where both could be anything.
func TestLevelsBalance(t *testing.T) {
	m := compiled(t, "diamond")
	l := m.levels()
	one, other := 1, 2
	for k := range l.plans[:numLevels-1] {
		p := &l.plans[k]
		short, long := p.seconds[one], p.seconds[other]
		if short > long {
			short, long, one, other = long, short, other, one
		}
		// The shorter could be cheaper by its next option only if that made it the longer.
		if i := p.option[one]; i+1 < len(m.Options[one]) && m.Options[one][i+1].Mean < long {
			t.Errorf("plan %d: step %d takes %.1f s and could take %.1f s for less, beside one of %.1f s", k, one, short,
				m.Options[one][i+1].Mean, long)
		}
	}
}

// The probability of a miss is that of normal times, of which later decisions make up for a part: by simulation, at every option of the first step.
func TestOutlookLate(t *testing.T) {
	m := compiled(t, "chain")
	var o Outlook
	o.Begin(m)
	at := first(m, 1.3*m.Fastest, 5*m.Unit)
	all := o.Look(nil, at, m.Flow.Entry())
	s := rng.NewStream(1, "outlook")
	for i, p := range all {
		option := &m.Options[m.Flow.Entry()][i]
		found := false
		for k := range o.l.plans {
			plan := &o.l.plans[k]
			if math.Abs(o.rest[k]-p.Rest) > 0 {
				continue
			}
			sd := math.Sqrt(option.variance() + recourse*plan.afterVariance[m.Flow.Entry()])
			mean := option.Mean + plan.after[m.Flow.Entry()]
			late := 0.0
			const n = 20_000
			for range n {
				if mean+float64(sd*s.Norm()) > at.SLO {
					late += 1.0 / n
				}
			}
			found = found || math.Abs(late-p.Late) < 0.015
		}
		if !found {
			t.Errorf("option %d: late with probability %.3f, no plan gives that by simulation", i, p.Late)
		}
		if want := option.USD + p.Rest + float64(at.Miss*p.Late); math.Abs(p.USD-want) > 1e-12 {
			t.Errorf("option %d: %g USD, want %g", i, p.USD, want)
		}
	}
}

// A branch that was not taken costs nothing, one that was taken costs all of it.
func TestOutlookBranch(t *testing.T) {
	m := compiled(t, "diamond")
	var o Outlook
	o.Begin(m)
	at := first(m, 3*m.Fastest, m.Unit)
	whole := o.Look(nil, at, 0)[0]
	at.State[1] = Skipped
	if part := o.Look(nil, at, 0)[0]; part.Rest >= whole.Rest {
		t.Errorf("the rest costs %g without a step and %g with it", part.Rest, whole.Rest)
	}
}

// Warm instances shorten a step, by no more than it takes to start cold.
func TestOutlookWarm(t *testing.T) {
	m := compiled(t, "chain")
	var o Outlook
	o.Begin(m)
	at := first(m, 2*m.Fastest, m.Unit)
	cold := o.Look(nil, at, 0)
	at.Warm = make([][]int, m.NumSteps())
	for s := range at.Warm {
		at.Warm[s] = make([]int, len(m.Platform.Memory))
		for k := range at.Warm[s] {
			at.Warm[s][k] = 1000
		}
	}
	for i, warm := range o.Look(nil, at, 0) {
		want := m.Seconds(0, i, 0, m.Options[0][i].Instances)
		if math.Abs(warm.Seconds-want) > 0.05*want+0.02 || warm.Seconds >= cold[i].Seconds {
			t.Errorf("option %d takes %.3f s warm, want about %.3f, and less than %.3f cold", i, warm.Seconds, want,
				cold[i].Seconds)
		}
	}
}

// Of the plans for the rest nearly the best one is found, at any limit.
func TestOutlookSearch(t *testing.T) {
	for _, preset := range []string{"chain", "diamond"} {
		m := compiled(t, preset)
		var o Outlook
		o.Begin(m)
		for _, factor := range []float64{0.8, 1, 1.2, 1.5, 2, 4} {
			at := first(m, factor*m.Fastest, 5*m.Unit)
			for i, p := range o.Look(nil, at, 0) {
				best := math.Inf(1)
				for k := range o.l.plans {
					c := &m.Options[0][i]
					best = min(best, o.with(at, c, 0, k, at.SLO-c.Mean, c.variance()).USD)
				}
				if p.USD > 1.001*best {
					t.Errorf("%s at %g: option %d is seen at %.6f USD, a plan gives %.6f", preset, factor, i, p.USD, best)
				}
			}
		}
	}
}

func TestOutlookAllocatesNothing(t *testing.T) {
	m := compiled(t, "diamond")
	var o Outlook
	o.Begin(m)
	at := first(m, 2*m.Fastest, m.Unit)
	dst := o.Look(nil, at, 0)
	if n := testing.AllocsPerRun(100, func() { dst = o.Look(dst[:0], at, 0) }); n > 0 {
		t.Errorf("%g allocations, want none", n)
	}
}

func BenchmarkOutlook(b *testing.B) {
	a := must.Get(Preset("diamond"))(b)
	m := must.Get(a.Compile())(b)
	var o Outlook
	o.Begin(m)
	at := first(m, 2*m.Fastest, m.Unit)
	dst := o.Look(nil, at, 0)
	b.ReportAllocs()
	for b.Loop() {
		dst = o.Look(dst[:0], at, 0)
	}
}
