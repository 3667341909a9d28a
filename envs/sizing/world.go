package sizing

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// request is a user's or the trace's request in the workflow. Its index is the tracker's run.
type request struct {
	begun sim.Time
	// a and b are the request's part of the keys of its draws: stream and arrival, or user and number.
	a, b uint64
	user int32
	// number is the request's index among those of its user.
	number uint32
	// use counts the requests that have used this run, one after another.
	use    uint32
	failed bool
}

// A tag identifies the visit that a simulated request belongs to: run, node, number of the visit, use of the run.
const (
	runBits    = 24
	nodeBits   = 12
	numberBits = 8
	useMask    = 1<<(64-runBits-nodeBits-numberBits) - 1
)

func tagOf(run, node, number int32, use uint32) uint64 {
	return uint64(use)&useMask<<(runBits+nodeBits+numberBits) | uint64(number)&(1<<numberBits-1)<<(runBits+nodeBits) |
		uint64(node)<<runBits | uint64(run)
}

func untag(t uint64) (run, node, number int32, use uint32) {
	return int32(t & (1<<runBits - 1)), int32(t >> runBits & (1<<nodeBits - 1)), int32(t >> (runBits +
			nodeBits) & (1<<numberBits - 1)),
		uint32(t >> (runBits + nodeBits + numberBits))
}

// Kinds of timers.
const (
	timerArrival int32 = iota
	timerUser          // payload: user, and generation<<32
)

// handler receives the simulator's events.
type handler struct{ e *Env }

// Fired handles timers: it begins requests.
func (h handler) Fired(_ *sim.Sim, t sim.Timer) {
	e := h.e
	if t.Kind == timerUser {
		user := int32(uint32(t.Payload))
		if uint32(t.Payload>>32) == e.generation && e.open {
			if uint32(t.Payload) >= uint32(len(e.asked)) {
				e.fail(fmt.Errorf("a timer of user %d of %d", uint32(t.Payload), len(e.asked)))
				return
			}
			n := e.asked[user]
			e.asked[user]++
			e.begin(uint64(user), uint64(e.generation)<<32|uint64(n), user, n)
		}
		return
	}
	if e.arrivals == nil {
		e.fail(errors.New("a timer of an arrival, but users bring the load"))
		return
	}
	a := e.next
	e.draw()
	e.draws("arrival", uint64(a.Stream), a.ID(), 0, float64(a.Time)/1e6)
	e.begin(uint64(a.Stream), a.ID(), 0, 0)
	e.arm()
}

// Finished handles the end of a function's own work in a visit, or its failure.
func (h handler) Finished(_ *sim.Sim, r sim.Response) {
	e := h.e
	run, node, _, use := untag(r.Tag)
	f := int(r.Function)
	if int(run) >= len(e.requests) {
		e.fail(fmt.Errorf("a visit of request %d of %d ends", run, len(e.requests)))
		return
	}
	if r.Outcome == sim.Completed && !e.app.gated[f] {
		e.durations[f] = append(e.durations[f], (r.Ended - r.Arrived).Seconds())
	}
	q := &e.requests[run]
	if q.use&useMask != use {
		return // the request has already ended
	}
	if r.Outcome != sim.Completed && !e.app.unused[f] {
		q.failed = true
		if e.cfg.Platform.OnFailure == AbortOnFailure {
			e.fail(e.tracker.Cancel(run))
			e.finish(run)
			return
		}
	}
	e.fail(e.tracker.Done(run, node, &e.step))
	e.proceed(run, 0)
}

// fail records the first error and stops the simulation. An error means that the environment's state is inconsistent.
func (e *Env) fail(err error) {
	if err != nil && e.err == nil {
		e.err = err
		e.sim.Pause()
	}
}

// begin starts a request whose draws are keyed by (a, b).
func (e *Env) begin(a, b uint64, user int32, number uint32) {
	run := e.tracker.Begin(a, b, &e.step)
	for int(run) >= len(e.requests) {
		e.requests = append(e.requests, request{})
		if e.app.anyGated() {
			for range e.app.flow.NumNodes() {
				e.visited = append(e.visited, 0)
			}
			for range e.app.words() {
				e.held = append(e.held, 0)
			}
		}
	}
	e.requests[run] = request{begun: e.sim.Now(), a: a, b: b, user: user, number: number, use: e.requests[run].use + 1}
	e.begun++
	e.proceed(run, e.delay)
}

// proceed performs the tracker's step after a delay.
func (e *Env) proceed(run int32, delay sim.Time) {
	for _, v := range e.step.Returned {
		if f := e.app.flow.Function(int(v.Node)); e.app.gated[f] {
			e.durations[f] = append(e.durations[f], (e.sim.Now() - *e.visit(run, v.Node)).Seconds())
			e.leave(run, v.Node)
		}
	}
	for _, v := range e.step.Start {
		e.call(run, v, e.sim.Now()+delay+e.hop)
	}
	if e.step.Finished {
		e.finish(run)
	}
}

// call submits a visit to its function, or queues it at the function's gate.
func (e *Env) call(run int32, v workflow.Visit, at sim.Time) {
	f := e.app.flow.Function(int(v.Node))
	if !e.app.gated[f] {
		e.submit(run, v.Node, v.Number, at)
		return
	}
	*e.visit(run, v.Node) = at
	g := &e.gates[f]
	if g.taken >= e.places(f) {
		g.push(tagOf(run, v.Node, v.Number, e.requests[run].use))
		return
	}
	e.enter(g, run, v.Node)
	e.submit(run, v.Node, v.Number, at)
}

// submit sends a visit to the simulator, with the work that its law and its key give.
func (e *Env) submit(run, node, number int32, at sim.Time) {
	q := &e.requests[run]
	f := e.app.flow.Function(int(node))
	l := &e.app.laws[f]
	factor := 1.0
	if n := e.noise[f]; n.sigma > 0 && !e.quiet {
		factor = n.draw(e.keys.demand.With(q.a).With(q.b).With(uint64(node)).With(uint64(number)))
		e.draws("demand", q.a, q.b, uint64(node)<<32|uint64(number), factor)
	}
	work := l.Work * factor * e.interference[f]
	if q.failed {
		work *= l.Spoilt
	}
	e.fail(e.sim.Submit(sim.Request{
		Function: int32(f), At: at, Demand: max(sim.Seconds(work), 1), Tag: tagOf(run, node, number, q.use),
		ID: e.keys.request.With(q.a).With(q.b).With(uint64(node)).With(uint64(number)).Uint64(),
	}))
}

// finish ends a request. In a closed loop its user thinks and then sends the next request.
func (e *Env) finish(run int32) {
	q := &e.requests[run]
	e.leaveAll(run)
	q.use++
	if e.counting {
		if q.failed {
			e.failures++
		} else {
			e.latencies = append(e.latencies, (e.sim.Now() - q.begun).Seconds())
		}
	}
	if !e.source.Closed() || !e.open {
		return
	}
	user := int(q.user)
	think := e.users.Think(user, uint64(e.generation)<<32|uint64(e.asked[user]))
	if think > 0 {
		e.draws("think", uint64(user), uint64(e.generation), uint64(e.asked[user]), float64(think)/1e6)
	}
	e.timer(timerUser, e.sim.Now()+sim.Time(think), uint64(e.generation)<<32|uint64(user))
}

func (e *Env) timer(kind int32, at sim.Time, payload uint64) {
	_, err := e.sim.At(sim.Timer{At: at, Kind: kind, Payload: payload})
	e.fail(err)
}

// draw takes the next arrival from the workload. arm sets its timer if it is in the current window.
func (e *Env) draw() { e.next, e.more = e.arrivals.Next() }

func (e *Env) arm() {
	if at := sim.Time(e.next.Time - e.offset); e.more && e.open && at < e.until {
		e.timer(timerArrival, at, 0)
	}
}

func (e *Env) draws(purpose string, a, b, c uint64, value float64) {
	if e.trace != nil {
		e.trace(purpose, a, b, c, value)
	}
}
