package serve

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workload"
)

// load holds the scalars of the load.
type load struct {
	// offset is the workload's time minus the simulation's.
	offset int64
	next   workload.Arrival
	more   bool
	until  sim.Time // end of the load
	// open: users may send requests. counting: requests that end are counted.
	open, counting bool
	// muted: no new request begins.
	muted bool
	// generation numbers the times that everything in flight was dropped.
	generation uint32
}

// Kinds of timers.
const (
	timerArrival int32 = iota
	timerUser          // payload: user, and generation<<32
)

// Closed reports whether users bring the load.
func (w *Walk) Closed() bool { return w.closed }

// NumUsers is the number of closed-loop users that Load has set.
func (w *Walk) NumUsers() int { return len(w.asked) }

// Users are the closed-loop users under the present seed.
func (w *Walk) Users() workload.Users { return w.users }

// Arrivals is the stream of arrivals in an open loop, else nil. Moving it is for planners; call [Walk.SeekTo] then.
func (w *Walk) Arrivals() workload.Arrivals { return w.arrivals }

// Load sets the load after [Walk.Reset]: the number of users, or the time of the workload, in microseconds, from which
// arrivals are taken.
func (w *Walk) Load(users int, at int64) {
	for range users {
		w.asked = append(w.asked, 0)
	}
	w.SeekTo(at)
}

// SeekTo makes the first arrival at or after a time of the workload, in microseconds, the next one. It does nothing in
// a closed loop.
func (w *Walk) SeekTo(at int64) {
	if w.arrivals != nil {
		w.arrivals.SeekTo(at)
		w.draw()
	}
}

// Begin ties the workload's time, in microseconds, to the present moment: users join from now on, and arrivals after
// that time come after now.
func (w *Walk) Begin(at int64) {
	w.offset = at - int64(w.sim.Now())
	for u := range w.asked {
		w.timer(timerUser, w.sim.Now()+sim.Time(w.users.Spawn(u)), uint64(w.generation)<<32|uint64(u))
	}
}

// Open lets requests begin, and be counted where they end, until a time, which is [Walk.Run]'s next.
func (w *Walk) Open(until sim.Time) {
	w.open, w.counting = !w.muted, true
	w.until = until
	if w.arrivals != nil {
		w.arm()
	}
}

// Close stops both.
func (w *Walk) Close() { w.open, w.counting = false, false }

// Mute stops new requests until the next Reset, whatever is opened.
func (w *Walk) Mute() { w.muted = true }

// Drop forgets all requests in flight, and begins the users' requests again under a new generation, from 1. Flush the
// platform's functions yourself.
func (w *Walk) Drop(seed uint64, generation uint32) {
	w.generation = generation
	w.tracker.Reset(seed)
	for i := range w.requests {
		w.requests[i].use++
	}
	clear(w.held)
	for f := range w.gates {
		w.gates[f].clear()
	}
	clear(w.asked)
}

// Fired handles timers: it begins requests.
func (h handler) Fired(_ *sim.Sim, t sim.Timer) {
	w := h.w
	if t.Kind == timerUser {
		user := int32(uint32(t.Payload))
		if uint32(t.Payload>>32) == w.generation && w.open {
			if uint32(t.Payload) >= uint32(len(w.asked)) {
				w.fail(fmt.Errorf("a timer of user %d of %d", uint32(t.Payload), len(w.asked)))
				return
			}
			n := w.asked[user]
			w.asked[user]++
			w.begin(uint64(user), uint64(w.generation)<<32|uint64(n), user, n)
		}
		return
	}
	if w.arrivals == nil {
		w.fail(errors.New("a timer of an arrival, but users bring the load"))
		return
	}
	a := w.next
	w.draw()
	w.drew("arrival", uint64(a.Stream), a.ID(), 0, float64(a.Time)/1e6)
	w.begin(uint64(a.Stream), a.ID(), 0, 0)
	w.arm()
}

// think lets a user think and then send the next request.
func (w *Walk) think(user int) {
	think := w.users.Think(user, uint64(w.generation)<<32|uint64(w.asked[user]))
	if think > 0 {
		w.drew("think", uint64(user), uint64(w.generation), uint64(w.asked[user]), float64(think)/1e6)
	}
	w.timer(timerUser, w.sim.Now()+sim.Time(think), uint64(w.generation)<<32|uint64(user))
}

func (w *Walk) timer(kind int32, at sim.Time, payload uint64) {
	_, err := w.sim.At(sim.Timer{At: at, Kind: kind, Payload: payload})
	w.fail(err)
}

// draw takes the next arrival from the workload. arm sets its timer if it is before the load's end.
func (w *Walk) draw() { w.next, w.more = w.arrivals.Next() }

func (w *Walk) arm() {
	if at := sim.Time(w.next.Time - w.offset); w.more && w.open && at < w.until {
		w.timer(timerArrival, at, 0)
	}
}

func (w *Walk) drew(purpose string, a, b, c uint64, value float64) {
	if w.cfg.Hooks.Drew != nil {
		w.cfg.Hooks.Drew(purpose, a, b, c, value)
	}
}
