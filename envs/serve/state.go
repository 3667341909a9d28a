package serve

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

// Section is a part of a walk's state.
type Section int

// The sections, in the order in which [Walk.State] lists them.
const (
	// Parts are the tracker, the arrivals and the simulation.
	Parts Section = iota
	// Load are the scalars of the load.
	Load
	// Asked are the numbers of requests of each user.
	Asked
	// Requests are those in flight, with their places and tasks.
	Requests
	sections
)

// CopyFrom makes w equal to another walk of the same configuration, random state included. It does not allocate once w
// has held as much.
func (w *Walk) CopyFrom(o *Walk) error { return state.Copy(w, o) }

// State implements [state.Stater].
func (w *Walk) State(c *state.Codec) {
	for s := range sections {
		w.List(c, s)
	}
	if c.Loaded() {
		c.Fail(w.Check())
	}
}

// List lists one section. It is for environments whose saved form has fields of their own between the sections: list
// all of them, in order, then [Walk.Check] what was loaded.
func (w *Walk) List(c *state.Codec, s Section) {
	switch s {
	case Parts:
		c.Part(w.tracker)
		if w.arrivals != nil {
			state.Member(c, w.arrivals)
		}
		c.Part(w.sim)
		if c.Filled() && w.closed {
			var err error
			w.users, err = w.cfg.Source.Users(w.sim.Seed())
			c.Fail(err)
		}
	case Load:
		state.Value(c, &w.load)
	case Asked:
		state.Slice(c, &w.asked)
	case Requests:
		state.Slice(c, &w.requests)
		for f, gated := range w.gated {
			if gated {
				c.Part(&w.gates[f])
			}
		}
		if w.cfg.Hooks.Tasks != nil {
			state.Slice(c, &w.fans)
		}
		state.Slice(c, &w.visited)
		state.Slice(c, &w.held)
	}
}

// State implements [state.Stater].
func (g *gate) State(c *state.Codec) {
	if o := state.Source(c, g); o != nil {
		g.taken, g.queue, g.head = o.taken, append(g.queue[:0], o.queue[o.head:]...), 0
	}
	if !c.Stored() {
		return
	}
	waiting := g.queue[g.head:]
	state.Value(c, &g.taken)
	state.Slice(c, &waiting)
	if c.Loaded() {
		g.queue, g.head = waiting, 0
	}
}

// Check refuses states that no walk reaches.
func (w *Walk) Check() error {
	if w.tracker.Live() > len(w.requests) {
		return fmt.Errorf("%d requests are in flight, but %d known", w.tracker.Live(), len(w.requests))
	}
	if w.words > 0 && len(w.visited) != w.nodes*len(w.requests) {
		return fmt.Errorf("%d visits of %d requests to %d nodes", len(w.visited), len(w.requests), w.nodes)
	}
	if len(w.held) != w.words*len(w.requests) {
		return fmt.Errorf("%d words for the places of %d requests, want %d for each", len(w.held), len(w.requests), w.words)
	}
	for i, p := range w.held {
		if last := w.nodes - 64*(i%w.words); last < 64 && p>>last != 0 {
			return fmt.Errorf("request %d holds places %b beyond the last of %d nodes", i/w.words, p, w.nodes)
		}
	}
	for f := range w.gates {
		for _, t := range w.gates[f].queue {
			run, node, _, _ := untag(t)
			if int(run) >= len(w.requests) || int(node) >= w.nodes || w.flow.Function(int(node)) != f {
				return fmt.Errorf("function %d has node %d of request %d of %d in line", f, node, run, len(w.requests))
			}
		}
	}
	users := 1 // the load as a whole
	if w.closed {
		users = len(w.asked)
	} else if len(w.asked) > 0 {
		return fmt.Errorf("%d users, but the load is not one of users", len(w.asked))
	}
	for i := range w.requests {
		if q := &w.requests[i]; q.user < 0 || int(q.user) >= users {
			return fmt.Errorf("request %d is of user %d of %d", i, q.user, users)
		}
	}
	return w.checkFans()
}

// checkFans refuses visits with more tasks ended than sent.
func (w *Walk) checkFans() error {
	if w.cfg.Hooks.Tasks == nil {
		return nil
	}
	if len(w.fans) != w.nodes*len(w.requests) {
		return fmt.Errorf("tasks of %d visits of %d requests to %d nodes", len(w.fans), len(w.requests), w.nodes)
	}
	for i := range w.fans {
		if p := &w.fans[i]; p.number < 0 || p.tasks > MaxTasks || p.ended < 0 || p.ended > p.sent || p.sent > p.tasks {
			return fmt.Errorf("node %d of request %d has %d tasks, of which %d are sent and %d ended", i%w.nodes, i/w.nodes,
				p.tasks, p.sent, p.ended)
		}
	}
	return nil
}
