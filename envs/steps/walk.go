package steps

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
)

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
	waited  float64
	busy    float64 // seconds of all steps
	cold    int
	steps   int // that were decided
	warmed  int // instances that were prewarmed
	// What mapping delays, cold starts and prewarming cost.
	mappingUSD, coldUSD, prewarmingUSD float64
}

// begin starts a request.
func (w *walk) begin(m, truth *Model, key rng.Key, slo, miss float64) {
	n, p := m.NumSteps(), &truth.Platform
	w.m, w.truth, w.key, w.running, w.total = m, truth, key, 0, totals{}
	w.runner.platform = p
	w.open, w.taken, w.ends, w.offs = resized(w.open, n), resized(w.taken, n), resized(w.ends, n), resized(w.offs, n)
	copy(w.open, m.before)
	clear(w.taken)
	a := &w.at
	*a = Moment{SLO: slo, Miss: miss, Ready: a.Ready[:0], State: resized(a.State, n), Choice: resized(a.Choice, n),
		Begun: resized(a.Begun, n), Done: resized(a.Done, n), Warm: resized(a.Warm, n)}
	sizes := len(p.Memory)
	w.warm = resized(w.warm, n*sizes)
	clear(w.warm)
	for s := range n {
		a.State[s], a.Choice[s], a.Begun[s], a.Done[s] = Waiting, -1, 0, 0
		a.Warm[s] = w.warm[s*sizes : (s+1)*sizes]
	}
	w.beginPrewarming()
	w.arrive(m.Flow.Entry())
	w.proceed()
}

// resized returns a slice of a length, with the memory of another one where it is large enough.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
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
	for _, e := range w.m.edges[s] {
		if e.p > 0 {
			u = w.key.With(branches).With(uint64(s)).Float64()
			break
		}
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
	for _, e := range w.m.edges[s][i:] {
		if e.p > 0 {
			return true
		}
	}
	return false
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
	r := w.runner.run(w.key, &w.truth.Steps[s], s, o, w.origin+w.at.Now, w.found(s, o.mb))
	w.at.Ready = append(w.at.Ready[:0], w.at.Ready[1:]...)
	w.at.State[s], w.at.Choice[s], w.ends[s] = Running, choice, w.at.Now+r.seconds
	w.running++
	w.at.Spent += r.usd
	t := &w.total
	t.mapping, t.waited, t.busy = t.mapping+r.mapping, t.waited+r.waited, t.busy+r.seconds
	t.cold, t.steps = t.cold+r.cold, t.steps+1
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
	for k, size := range w.runner.platform.Memory {
		if size == mb {
			return w.at.Warm[s][k]
		}
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

// off returns the option of a step whose option is not on its front.
func (w *walk) off(s int) *Option { return &w.offs[s] }
