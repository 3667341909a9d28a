package steps

import (
	"github.com/stoker-rl/stoker/rng"
)

// Player lets deciders decide requests, each alone on a cold platform: what the environment plays, without observations
// and rewards. It is used by one goroutine.
type Player struct {
	walk walk
	room room
	runs []result // per step
}

// Played is what a request came to.
type Played struct {
	// Seconds is its time from end to end, USD its price.
	Seconds, USD float64
	// Mapping, Transfer and Compute are the seconds of the steps on its critical path: those that it waited for, one after
	// the other. They are those of the instance of each step that ended last: until it started, and after that.
	Mapping, Transfer, Compute float64
	// Decisions is the number of steps on the critical path that were decided, Cold the cold starts of all steps.
	Decisions, Cold int
}

// Play plays a request: the steps' times are drawn from key and step and instance alone, so that deciders face the same
// draws. slo is the limit in seconds and miss its price in USD, as the decider is told.
func (p *Player) Play(m *Model, d Decider, key rng.Key, slo, miss float64) Played {
	w := &p.walk
	p.runs = resized(p.runs, m.NumSteps())
	clear(p.runs)
	p.room.reset(&m.Platform)
	w.runner.room = &p.room
	w.begin(m, m, key, slo, miss)
	d.Begin(m, slo, miss)
	for !w.over() {
		s := w.step()
		k := d.Decide(&w.at, s)
		p.runs[s], _ = w.take(k, m.configuration(s, k))
	}
	out := Played{Seconds: w.at.Now, USD: w.at.Spent, Cold: w.total.cold}
	p.trace(&out)
	return out
}

// trace goes back along the critical path: from the step that ended last to the one at whose end it began. A wait state on
// it is none of the parts.
func (p *Player) trace(out *Played) {
	at, m := &p.walk.at, p.walk.m
	lasts := func(s int) bool { return at.State[s] == Done && (!m.Free(s) || m.Steps[s].Wait > 0) }
	last := -1
	for s := range at.State {
		if lasts(s) && (last < 0 || at.Done[s] > at.Done[last]) {
			last = s
		}
	}
	for last >= 0 {
		if r := &p.runs[last]; !m.Free(last) {
			out.Decisions++
			out.Mapping += r.began
			out.Transfer += r.moved
			out.Compute += r.seconds - r.began - r.moved
		}
		begun := at.Begun[last]
		last = -1
		for s := range at.State {
			if lasts(s) && at.Done[s] == begun {
				last = s
				break
			}
		}
	}
}

// Measured is what one run of a step came to.
type Measured struct {
	// Seconds is the time of the whole step. Mapping is the part of it until the last instance starts.
	Seconds, Mapping float64
	// Transfer is the download and the upload of the instance that ended last.
	Transfer float64
	USD      float64
	Cold     int
}

// Measure runs a step alone with an option, as [Model.Seconds] takes it, where it finds so many warm instances.
func (p *Player) Measure(m *Model, step, option, warm int, key rng.Key) Measured {
	p.room.reset(&m.Platform)
	p.walk.runner.platform, p.walk.runner.room = &m.Platform, &p.room
	r := p.walk.runner.run(key, &m.Steps[step], step, m.configuration(step, option), 0, warm)
	return Measured{Seconds: r.seconds, Mapping: r.mapping, Transfer: r.moved, USD: r.usd, Cold: r.cold}
}
