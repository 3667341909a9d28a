package steps

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/rng"
)

// State is where a step of a request stands.
type State uint8

// States of a step.
const (
	Waiting State = iota // it is not known yet that all it waits for has ended
	Ready                // it is to be decided now
	Running
	Done
	Skipped // a branch that was not taken leads to it
)

// Moment is what is known of a request when some of its steps are ready. What it points to holds until the next
// decision; deciders do not write to it.
type Moment struct {
	// Now is the time in seconds since the request began, SLO the limit to its end, Spent the USD so far, and Miss the
	// price in USD of a request that ends later than SLO (λ).
	Now, SLO, Spent, Miss float64
	// Ready are the steps to decide now, one after the other: Ready[0] is next.
	Ready []int
	// State, Choice, Begun and Done are per step: where it stands, its option (-1 before it is chosen), and the times in
	// seconds since the request began at which it began and ended. Done is only known of steps in the state Done.
	State  []State
	Choice []int
	Begun  []float64
	Done   []float64
	// Warm is per step and memory size of the platform the number of idle warm instances.
	Warm [][]int
	// Runs are the steps whose instances hold room of a cluster now or wait for it, those of a stream's other requests
	// included, in the order in which they were decided.
	Runs []Run
}

// Decider chooses an option for each step as it becomes ready. It is used by one goroutine.
type Decider interface {
	// Begin tells of a request's workflow, its limit in seconds and the price of a miss in USD.
	Begin(m *Model, slo, miss float64)
	// Decide returns an option of a step that is ready: an index into m.Options[step], or what m.Pack returns for one that
	// is not on the step's front.
	Decide(at *Moment, step int) (option int)
}

// walk is a request on its way through the workflow. A step waits until every edge into it is decided: taken or not. It
// is ready if one is taken, and skipped if none is.
type walk struct {
	m        *Model // as who decides knows it
	truth    *Model // as it is
	runner   runner
	key      rng.Key // of the request's draws
	at       Moment
	open     []int     // per step the edges into it of which nothing is known yet
	taken    []bool    // per step whether an edge into it is taken
	ends     []float64 // per running step when it ends
	offs     []Option  // per step that has an option beside its front: that option
	forecast forecast  // memory for it
	warm     []int     // behind at.Warm
	ahead    prewarming
	place

	running int
	total   totals
}

// place is where a request stands in its episode.
type place struct {
	number int     // among the requests, from 0
	origin float64 // when it began, in seconds of the episode
	busy   bool    // it has not ended
}

// totals are what a request has come to so far.
type totals struct {
	mapping float64 // seconds, of all steps
	busy    float64 // seconds of all steps
	cold    int
	warmed  int // instances that were prewarmed
	// What mapping delays, cold starts and prewarming cost.
	mappingUSD, coldUSD, prewarmingUSD float64
}

// begin starts a request.
func (w *walk) begin(m, truth *Model, key rng.Key, slo, miss float64) {
	n, p := m.NumSteps(), &truth.Platform
	w.m, w.truth, w.key, w.running, w.total = m, truth, key, 0, totals{}
	w.runner.platform = p
	w.open, w.taken, w.ends, w.offs = reuse.Slice(w.open, n), reuse.Slice(w.taken, n), reuse.Slice(w.ends, n), reuse.Slice(w.offs, n)
	copy(w.open, m.before)
	clear(w.taken)
	a := &w.at
	*a = Moment{SLO: slo, Miss: miss, Ready: a.Ready[:0], State: reuse.Slice(a.State, n), Choice: reuse.Slice(a.Choice, n),
		Begun: reuse.Slice(a.Begun, n), Done: reuse.Slice(a.Done, n), Warm: reuse.Slice(a.Warm, n), Runs: slices.Grow(a.Runs[:0], 2*n)}
	sizes := len(p.Memory)
	w.warm = reuse.Slice(w.warm, n*sizes)
	clear(w.warm)
	for s := range n {
		a.State[s], a.Choice[s], a.Begun[s], a.Done[s] = Waiting, -1, 0, 0
		a.Warm[s] = w.warm[s*sizes : (s+1)*sizes]
	}
	w.beginPrewarming()
	w.arrive(m.Flow.Entry())
	w.proceed()
}

// over reports whether the request has ended.
func (w *walk) over() bool { return len(w.at.Ready) == 0 && w.running == 0 }

// step is the one to decide now, -1 after the end.
func (w *walk) step() int {
	if len(w.at.Ready) == 0 {
		return -1
	}
	return w.at.Ready[0]
}

// arrive makes a step ready, or passes it where it does nothing.
func (w *walk) arrive(s int) {
	w.at.Begun[s] = w.at.Now
	switch {
	case !w.m.Free(s):
	case w.m.Steps[s].Wait > 0:
		w.at.State[s], w.at.Choice[s], w.ends[s] = Running, 0, w.at.Now+w.m.Steps[s].Wait
		w.running++
		return
	default:
		w.leave(s)
		return
	}
	w.at.State[s] = Ready
	w.at.Ready = append(w.at.Ready, s)
}

// leave ends a step and settles the edges that leave it.
func (w *walk) leave(s int) {
	w.at.State[s], w.at.Done[s] = Done, w.at.Now
	u, chosen := 0.0, false
	if w.choice(s, 0) {
		u = w.key.With(branches).With(uint64(s)).Float64()
	}
	for i, e := range w.m.edges[s] {
		takes := e.p == 0
		if !takes && !chosen {
			// Of the last alternative rounding may leave a small rest.
			u -= e.p
			takes = u < 0 || !w.choice(s, i+1)
			chosen = takes
		}
		w.settle(e.to, takes)
	}
}

// branches keeps the draws of branches apart from those of steps, whose numbers are small.
const branches = 1 << 32

// choice reports whether a step has a branch from its edge i on.
func (w *walk) choice(s, i int) bool {
	return slices.ContainsFunc(w.m.edges[s][i:], func(e edge) bool { return e.p > 0 })
}

// settle records that an edge into a step is taken or not.
func (w *walk) settle(s int, takes bool) {
	if s < 0 {
		return
	}
	w.taken[s] = w.taken[s] || takes
	if w.open[s]--; w.open[s] > 0 {
		return
	}
	if w.taken[s] {
		w.arrive(s)
		return
	}
	w.at.State[s] = Skipped
	for _, e := range w.m.edges[s] {
		w.settle(e.to, false)
	}
}

// take runs the step to decide with a configuration and goes on to the next decision. It returns what the step came to
// and the seconds until that decision.
func (w *walk) take(choice int, o configuration) (result, float64) {
	s := w.at.Ready[0]
	if choice >= packed {
		w.offs[s] = w.m.evaluate(&w.forecast, s, w.m.unpack(choice))
	}
	if w.ahead.ahead != nil {
		w.ahead.ahead.Decide(&w.at, s) // it keeps its own account of the request
		if d := &w.ahead.calls[s]; w.runner.platform.Memory[d.size] == o.mb {
			w.payIdle(s, w.at.Now)
		}
	}
	if w.runner.platform.Workers > 0 {
		whole := w.mean(s, choice)
		w.runner.room.open(hold{request: w.number, step: s, cores: w.runner.platform.CoresOf(o.mb), mb: o.mb,
			seconds: w.m.held(s, o, whole), last: whole}, w.m.Platform.MaxInstances)
	}
	r := w.runner.run(w.key, &w.truth.Steps[s], s, o, w.origin+w.at.Now, w.found(s, o.mb))
	w.at.Ready = append(w.at.Ready[:0], w.at.Ready[1:]...)
	w.at.State[s], w.at.Choice[s], w.ends[s] = Running, choice, w.at.Now+r.seconds
	w.running++
	w.at.Spent += r.usd
	t := &w.total
	t.mapping, t.busy, t.cold = t.mapping+r.mapping, t.busy+r.seconds, t.cold+r.cold
	t.mappingUSD, t.coldUSD = t.mappingUSD+r.mappingUSD, t.coldUSD+r.coldUSD
	from := w.at.Now
	if len(w.at.Ready) == 0 && w.ahead.ahead != nil {
		w.predict()
	}
	w.proceed()
	return r, w.at.Now - from
}

// prewarm makes the dummy calls of the time that has passed, and pays for what is of no use at the request's end.
func (w *walk) prewarm() {
	if w.ahead.ahead == nil {
		return
	}
	w.call(w.at.Now)
	if w.over() {
		for s := range w.ahead.calls {
			w.payIdle(s, w.at.Now)
		}
	}
}

// found is how many idle warm instances of a size there are for a step.
func (w *walk) found(s, mb int) int {
	if k := slices.Index(w.runner.platform.Memory, mb); k >= 0 {
		return w.at.Warm[s][k]
	}
	return 0
}

// proceed lets time pass until a step is ready or the request has ended.
func (w *walk) proceed() {
	defer w.prewarm()
	for len(w.at.Ready) == 0 && w.running > 0 {
		now := math.Inf(1)
		for s, state := range w.at.State {
			if state == Running {
				now = min(now, w.ends[s])
			}
		}
		w.at.Now = now
		for s := range w.at.State {
			if w.at.State[s] == Running && w.ends[s] <= now {
				w.running--
				w.leave(s)
			}
		}
	}
}

// mean is the predicted mean time of a step with an option.
func (w *walk) mean(s, option int) float64 {
	if option < len(w.m.Options[s]) {
		return w.m.Options[s][option].Mean
	}
	return w.offs[s].Mean
}

// gauge sees what holds room of a cluster.
func (w *walk) gauge() {
	if w.runner.platform.Workers > 0 {
		w.at.Runs = w.runner.room.runs(w.at.Runs[:0], w)
	}
}

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
	p.runs = reuse.Slice(p.runs, m.NumSteps())
	clear(p.runs)
	p.room.reset(&m.Platform)
	w.runner.room = &p.room
	w.begin(m, m, key, slo, miss)
	d.Begin(m, slo, miss)
	for !w.over() {
		s := w.step()
		w.gauge()
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
