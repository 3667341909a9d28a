package workflow

import (
	"fmt"

	"github.com/stoker-rl/stoker/rng"
)

// Visit is one run of a node within a request. Number counts the node's runs in that request from 0; it
// tells a loop's draws apart.
type Visit struct{ Node, Number int32 }

// Step is what follows from an event. Its slices belong to the caller and are used again by the next event: keep
// one Step per simulator.
type Step struct {
	// Start are the visits that begin now: hand each to its function.
	Start []Visit
	// Returned are the visits whose invocation ends now: their place on their instance is free. A visit that makes
	// calls returns after its callees; any other returns as soon as its work is done.
	Returned []Visit
	// Finished says that the request is over and its run is given back.
	Finished bool
}

// Tracker follows requests through a workflow. Branches and loops are decided by draws keyed by (seed, user,
// request, node, number), so that they are the same under every policy. Its state is pooled: after
// warm-up it does not allocate.
//
// A node starts when every edge into it has been settled, taken or not, and at least one was taken; a node that
// none leads to settles its own edges as not taken. So paths of a fork wait for each other where they meet, and
// alternatives do not.
type Tracker struct {
	w *Workflow
	draws
	runs []run
	free []int32 // runs to use next, from the end
	// Per run and node, run-major.
	cells []cell
}

// draws names a tracker's draws.
type draws struct {
	seed uint64
	key  rng.Key
}

// run is one request in flight.
type run struct {
	user, request uint64
	active        int32 // visits begun and not returned
	used          bool
}

// cell is a node of a run.
type cell struct {
	open   int32 // edges into the node not settled yet
	number int32 // visits begun
	calls  int32 // callees begun, one by one, or not returned, together
	taken  bool  // an edge into the node was taken
	phase  phase
}

type phase uint8

const (
	idle phase = iota
	working
	calling
	phases
)

// NewTracker returns a tracker with no request in flight.
func NewTracker(w *Workflow, seed uint64) *Tracker {
	t := &Tracker{w: w}
	t.Reset(seed)
	return t
}

// Workflow returns what the requests go through.
func (t *Tracker) Workflow() *Workflow { return t.w }

// Reset drops all requests and starts again with a seed.
func (t *Tracker) Reset(seed uint64) {
	t.seed = seed
	t.key = rng.New(seed, "workflow")
	t.free = t.free[:0]
	for r := len(t.runs) - 1; r >= 0; r-- {
		t.runs[r] = run{}
		t.free = append(t.free, int32(r))
	}
}

// Live returns the number of requests in flight.
func (t *Tracker) Live() int { return len(t.runs) - len(t.free) }

// Begin starts a request and fills out with its first visit. The run it returns stands for the request until a
// Step says Finished, or Cancel. User and request name it in the draws: user 0 in open loop.
func (t *Tracker) Begin(user, request uint64, out *Step) int32 {
	n := len(t.w.function)
	if len(t.free) == 0 {
		t.free = append(t.free, int32(len(t.runs)))
		t.runs = append(t.runs, run{})
		for range n {
			t.cells = append(t.cells, cell{})
		}
	}
	r := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	t.runs[r] = run{user: user, request: request, used: true}
	cs := t.cells[int(r)*n:][:n]
	for m := range cs {
		cs[m] = cell{open: t.w.in[m]}
	}
	out.clear()
	t.start(r, int32(t.w.entry), out)
	return r
}

func (s *Step) clear() {
	s.Start, s.Returned, s.Finished = s.Start[:0], s.Returned[:0], false
}

// Done says that a node's own work (service, without its calls) is done, and fills out with what follows. It fails
// where the run is not in flight or the node is not at work in it.
func (t *Tracker) Done(r, node int32, out *Step) error {
	if err := t.check(r); err != nil {
		return err
	}
	if node < 0 || int(node) >= len(t.w.function) {
		return fmt.Errorf("workflow %q: node %d, want one below %d", t.w.Name(), node, len(t.w.function))
	}
	c := t.cell(r, node)
	if c.phase != working {
		return fmt.Errorf("workflow %q: node %q is done in run %d where it is not at work", t.w.Name(),
			t.w.NodeName(int(node)), r)
	}
	out.clear()
	callees := t.w.calls[node]
	switch {
	case len(callees) == 0:
		t.returns(r, node, out)
	case t.w.mode[node] == OneByOne:
		c.phase, c.calls = calling, 1
		t.start(r, callees[0], out)
	default:
		c.phase, c.calls = calling, int32(len(callees))
		for _, m := range callees {
			t.start(r, m, out)
		}
	}
	if t.runs[r].active == 0 {
		out.Finished = true
		t.release(r)
	}
	return nil
}

// Cancel drops a request, whatever it is doing: one that was refused or ran out of time. Visits it had begun are the
// simulator's to remove.
func (t *Tracker) Cancel(r int32) error {
	if err := t.check(r); err != nil {
		return err
	}
	t.release(r)
	return nil
}

func (t *Tracker) check(r int32) error {
	if r < 0 || int(r) >= len(t.runs) || !t.runs[r].used {
		return fmt.Errorf("workflow %q: run %d is not in flight", t.w.Name(), r)
	}
	return nil
}

func (t *Tracker) release(r int32) {
	t.runs[r] = run{}
	t.free = append(t.free, r)
}

func (t *Tracker) cell(r, node int32) *cell { return &t.cells[int(r)*len(t.w.function)+int(node)] }

func (t *Tracker) start(r, node int32, out *Step) {
	c := t.cell(r, node)
	out.Start = append(out.Start, Visit{node, c.number})
	c.number++
	c.phase = working
	t.runs[r].active++
}

// returns ends a visit: its caller goes on, or its edges are settled.
func (t *Tracker) returns(r, node int32, out *Step) {
	c := t.cell(r, node)
	c.phase = idle
	out.Returned = append(out.Returned, Visit{node, c.number - 1})
	t.runs[r].active--
	caller := t.w.of[node]
	if caller < 0 {
		t.leave(r, node, c.number-1, out)
		return
	}
	cc := t.cell(r, caller)
	if t.w.mode[caller] == Together {
		if cc.calls--; cc.calls == 0 {
			t.returns(r, caller, out)
		}
		return
	}
	if callees := t.w.calls[caller]; int(cc.calls) < len(callees) {
		cc.calls++
		t.start(r, callees[cc.calls-1], out)
		return
	}
	t.returns(r, caller, out)
}

// leave chooses among a node's alternatives and settles its edges.
func (t *Tracker) leave(r, node, number int32, out *Step) {
	w := t.w
	alts := w.alts[node]
	chosen := -1
	if len(alts) > 0 {
		run := &t.runs[r]
		u := t.key.With(run.user).With(run.request).With(uint64(node)).With(uint64(number)).Float64()
		for chosen = range alts {
			if u -= alts[chosen].p; u < 0 {
				break // else the last, where rounding left a little over
			}
		}
		if l := alts[chosen].loop; l >= 0 {
			for _, m := range w.loops[l].body {
				c := t.cell(r, m)
				c.open, c.taken = w.in[m], false
			}
			t.start(r, w.loops[l].header, out)
			return
		}
	}
	for _, m := range w.next[node] {
		t.settle(r, m, true, out)
	}
	for i, a := range alts {
		if a.loop < 0 {
			t.settle(r, a.to, i == chosen, out)
		}
	}
}

// settle counts an edge into a node as taken or not.
func (t *Tracker) settle(r, node int32, taken bool, out *Step) {
	if node == exit {
		return
	}
	c := t.cell(r, node)
	c.taken = c.taken || taken
	if c.open--; c.open > 0 {
		return
	}
	if c.taken {
		t.start(r, node, out)
		return
	}
	for _, m := range t.w.next[node] {
		t.settle(r, m, false, out)
	}
	for _, a := range t.w.alts[node] {
		if a.loop < 0 {
			t.settle(r, a.to, false, out)
		}
	}
}
