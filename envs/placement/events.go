package placement

import (
	"slices"

	"github.com/stoker-rl/stoker/internal/heap"
)

// fraction is 1/s in the fixed-point numbers in which 1/ideal is summed: such sums are exact in any order.
const fraction = 1 << 32

// wait lets time pass and returns whether the episode ended or was cut.
func (e *Env) wait() (terminated, truncated bool) {
	tick, limit := micros(e.c.Tick), micros(e.c.MaxTime)
	goal := e.now - e.now%tick + tick
	for {
		t := e.due()
		switch {
		case e.c.Wait == WaitTick:
			t = min(t, goal)
		case t == noEvent:
			t = e.now + tick
		}
		e.pass(min(t, limit))
		e.happen()
		switch {
		case e.arrivals.next == noEvent && len(e.requests) == len(e.free):
			return true, false
		case e.now >= limit:
			return false, true
		case e.c.Wait == WaitTick:
			if e.now >= goal {
				return false, false
			}
		case e.placeable():
			return false, false
		}
	}
}

// due is the time of the next arrival or end.
func (e *Env) due() int64 {
	t := e.arrivals.next
	if len(e.ends) > 0 {
		t = min(t, e.ends[0].at)
	}
	return t
}

// pass lets time pass to t, warm instances expiring on the way.
func (e *Env) pass(t int64) {
	for len(e.idle) > 0 && e.idle[0].expires <= t {
		x := e.idle[0]
		e.count(x.expires - e.now)
		e.now = max(e.now, x.expires)
		e.remove(0)
		e.refit(x.node)
	}
	e.count(t - e.now)
	e.now = max(e.now, t)
}

// happen handles all events that are due: first ends, then arrivals.
func (e *Env) happen() {
	for len(e.ends) > 0 && e.ends[0].at <= e.now {
		e.finish(heap.Pop(&e.ends).invocation)
	}
	for e.arrivals.next <= e.now {
		e.arrive()
		e.arrivals.advance(false)
	}
}

// arrive admits the next request, or drops it where the system is full.
func (e *Env) arrive() {
	a := &e.arrivals
	d := a.draw()
	p := &e.c.Priorities[d.priority]
	if len(e.free) == 0 && len(e.requests) == e.c.Most {
		e.tally.dropped++
		e.meter.violations += p.Weight
		return
	}
	t := &e.s.workflows[d.workflow]
	ideal := float64(t.ideal * d.size)
	q := request{
		number: a.number, workflow: int32(d.workflow), priority: int32(d.priority), left: int32(len(t.steps)),
		arrived: e.now, size: d.size, ideal: ideal,
		deadline: e.now + micros(float64(p.Factor*ideal)+p.Grace), inverse: int64(fraction / ideal),
		work: float64(t.work * d.size),
	}
	i := e.room()
	e.requests[i] = q
	e.weight += q.inverse
	for j := range t.steps {
		st := &t.steps[j]
		k := int(i)*e.s.steps + j
		e.levels[k] = 0
		e.invocations[k] = invocation{
			request: i, step: int32(j), function: st.function, node: -1, amount: -1, pending: int32(len(st.after)),
			work: float64(st.work * d.size), noise: a.factor(j),
		}
		if len(st.after) == 0 {
			e.ready(int32(k))
		}
	}
}

// room returns a free place for a request.
func (e *Env) room() int32 {
	if n := len(e.free); n > 0 {
		i := e.free[n-1]
		e.free = e.free[:n-1]
		return i
	}
	i := len(e.requests)
	e.requests = append(e.requests, request{})
	e.invocations = slices.Grow(e.invocations, e.s.steps)[:(i+1)*e.s.steps]
	clear(e.invocations[i*e.s.steps:]) // of an earlier episode
	e.levels = slices.Grow(e.levels, e.s.steps)[:(i+1)*e.s.steps]
	width := e.s.steps * e.layout.still()
	e.rows = slices.Grow(e.rows, width)[:(i+1)*width]
	return int32(i)
}

// ready moves an invocation into the window, or the backlog where the window is full.
func (e *Env) ready(i int32) {
	v := &e.invocations[i]
	v.since = e.now
	q := &e.requests[v.request]
	t := &e.s.workflows[q.workflow]
	v.input = 0
	for _, p := range t.steps[v.step].after {
		v.input += float64(t.steps[p].output * q.size)
	}
	l := &e.functions[v.function]
	l.waiting++
	l.since = e.now
	e.cached.waits(&e.view, i)
	if len(e.window) < e.c.Window && e.head == len(e.backlog) {
		e.window = append(e.window, i)
		l.shown++
		return
	}
	e.backlog = append(e.backlog, i)
}

// place starts an invocation of the window.
func (e *Env) place(which int, amount, at int32) {
	i := e.window[which]
	v := &e.invocations[i]
	e.window = slices.Delete(e.window, which, which+1)
	l := &e.functions[v.function]
	l.waiting--
	l.shown--
	v.node, v.amount = at, amount
	e.take(v)
	f := &e.s.functions[v.function]
	seconds := e.transfer(v)
	run := float64(v.work*f.stretch[amount]) / e.s.nodes[at].speed
	wait := int64(0)
	if v.cold {
		wait = f.cold
	}
	v.start = e.now
	v.expected = e.now + wait + micros(seconds+run)
	v.finish = e.now + wait + micros(seconds+float64(run*v.noise))
	e.active = append(e.active, i)
	heap.Push(&e.ends, ending{v.finish, i})
	if e.head < len(e.backlog) {
		next := e.backlog[e.head]
		e.head++
		e.window = append(e.window, next)
		e.functions[e.invocations[next].function].shown++
		if 2*e.head >= len(e.backlog) { // drop the part that has left
			e.backlog, e.head = slices.Delete(e.backlog, 0, e.head), 0
		}
	}
}

// transfer is the seconds that an invocation needs to fetch the output of predecessors on other nodes.
func (e *Env) transfer(v *invocation) float64 {
	q := &e.requests[v.request]
	t := &e.s.workflows[q.workflow]
	first := v.request * int32(e.s.steps)
	remote := 0.0
	for _, p := range t.steps[v.step].after {
		if e.invocations[first+p].node != v.node {
			remote += float64(t.steps[p].output * q.size)
		}
	}
	return 8 * remote / float64(e.s.functions[v.function].demand[v.amount][Network])
}

// finish ends an invocation. Successors that waited for it alone become ready; a request whose last invocation it was
// leaves.
func (e *Env) finish(i int32) {
	v := &e.invocations[i]
	q := &e.requests[v.request]
	t := &e.s.workflows[q.workflow]
	st := &t.steps[v.step]
	e.give(v)
	k := slices.Index(e.active, i)
	e.active = slices.Delete(e.active, k, k+1)
	e.tally.ran(e, v)
	first := v.request * int32(e.s.steps)
	e.levels[first+st.level]++
	q.work -= float64(st.weight * q.size)
	q.left--
	for _, n := range st.next {
		if w := &e.invocations[first+n]; w.pending > 1 {
			w.pending--
		} else {
			w.pending = 0
			e.ready(first + n)
		}
	}
	if q.left > 0 {
		return
	}
	e.weight -= q.inverse
	if e.now > q.deadline {
		e.meter.violations += e.c.Priorities[q.priority].Weight
	}
	e.tally.served(e, q)
	e.free = append(e.free, v.request)
}

// ending is when an invocation ends.
type ending struct {
	at         int64
	invocation int32
}

// Before orders by time, then by number.
func (a ending) Before(b ending) bool {
	return a.at < b.at || a.at == b.at && a.invocation < b.invocation
}
