package workflow

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Visit is one run of a node within a request. Number counts the node's runs in that request from 0. It is part of the
// key of the visit's draws, so that each run of a loop has its own.
type Visit struct{ Node, Number int32 }

// Step is what follows from an event. The next event overwrites its slices, which belong to the caller: one Step per
// simulator is enough.
type Step struct {
	// Start are the visits that begin now: submit each to its function.
	Start []Visit
	// Returned are the visits whose invocation ends now, which frees their slot on their instance. A visit with calls
	// returns after its callees; any other visit returns when its work is done.
	Returned []Visit
	// Finished says that the request has ended. Its run may then be used for another request.
	Finished bool
}

// Tracker follows requests through a workflow. The draws of branches and loops are keyed by (seed, user, request, node,
// number), so that they are the same under every policy. After warm-up a tracker does not allocate: it reuses the state
// of requests that have ended.
//
// A node starts when it is known for every edge into it whether it is taken, and at least one is taken. If none is
// taken, the node does not run, and none of its own edges is taken either. So parallel paths wait for each other where
// they meet, and alternatives do not. A cyclic part without forks starts and is left out as a whole in the same way;
// within it a request moves from node to node.
type Tracker struct {
	w *Workflow
	draws
	runs []run
	free []int32 // runs that are not in use, a stack
	// cells[run*width+node], then one for each cyclic part without forks.
	cells []cell
}

// draws holds the keys of a tracker's draws.
type draws struct {
	seed uint64
	key  rng.Key
}

// run is one request in flight.
type run struct {
	user, request uint64
	active        int32 // visits that have begun and not returned
	used          bool
}

// cell is the state of a node in a run.
type cell struct {
	open   int32 // edges into the node of which it is not known yet whether they are taken
	number int32 // visits that have begun
	calls  int32 // callees that have begun (one by one) or have not returned (together)
	taken  bool  // whether an edge into the node was taken
	phase  phase
}

type phase uint8

const (
	idle phase = iota
	working
	calling
	phases
)

// NewTracker returns a tracker with no request in flight. Check [Workflow.Walkable] first: through a workflow that is
// not, a tracker goes wrong ways.
func NewTracker(w *Workflow, seed uint64) *Tracker {
	t := &Tracker{w: w}
	t.Reset(seed)
	return t
}

// Workflow returns the workflow of the requests.
func (t *Tracker) Workflow() *Workflow { return t.w }

// Reset drops all requests and sets the seed of the draws.
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

// Begin starts a request and fills out with its first visit. The run that it returns identifies the request until a
// Step says Finished, or until Cancel. User and request are part of the keys of its draws; in an open loop user is 0.
func (t *Tracker) Begin(user, request uint64, out *Step) int32 {
	n := t.width()
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
	for m, k := range t.w.indegree {
		cs[m] = cell{open: k}
	}
	for k, p := range t.w.routes.walks {
		cs[len(t.w.indegree)+k] = cell{open: p.enter}
	}
	out.clear()
	t.start(r, int32(t.w.entry), out)
	return r
}

func (s *Step) clear() {
	s.Start, s.Returned, s.Finished = s.Start[:0], s.Returned[:0], false
}

// Done tells the tracker that a node has finished its own work (without its calls), and fills out with what follows. It
// fails if the run is not in flight or the node is not running in it.
func (t *Tracker) Done(r, node int32, out *Step) error {
	if err := t.check(r); err != nil {
		return err
	}
	if node < 0 || int(node) >= len(t.w.function) {
		return fmt.Errorf("workflow %q: node is %d, want 0 to %d", t.w.Name(), node, len(t.w.function)-1)
	}
	c := t.cell(r, node)
	if c.phase != working {
		return fmt.Errorf("workflow %q: node %q is done in run %d, but it is not running there", t.w.Name(),
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

// Cancel drops a request in any state, for example one that was refused or timed out. The caller must remove its visits
// from the simulator.
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

// width is the number of cells of a run.
func (t *Tracker) width() int { return len(t.w.function) + len(t.w.routes.walks) }

func (t *Tracker) cell(r, node int32) *cell { return &t.cells[int(r)*t.width()+int(node)] }

func (t *Tracker) start(r, node int32, out *Step) {
	c := t.cell(r, node)
	out.Start = append(out.Start, Visit{node, c.number})
	c.number++
	c.phase = working
	t.runs[r].active++
}

// returns ends a visit: its caller continues, or the edges that leave the node are settled.
func (t *Tracker) returns(r, node int32, out *Step) {
	c := t.cell(r, node)
	c.phase = idle
	out.Returned = append(out.Returned, Visit{node, c.number - 1})
	t.runs[r].active--
	caller := t.w.caller[node]
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

// leave draws one of a node's alternatives and settles the edges that leave the node.
func (t *Tracker) leave(r, node, number int32, out *Step) {
	w := t.w
	alts := w.alts[node]
	chosen := -1
	if len(alts) > 0 {
		run := &t.runs[r]
		u := t.key.With(run.user).With(run.request).With(uint64(node)).With(uint64(number)).Float64()
		for chosen = range alts {
			if u -= alts[chosen].p; u < 0 {
				break // without a break the last one is taken: rounding may leave a small rest
			}
		}
	}
	if w.routes.walk[node] >= 0 {
		t.walk(r, node, chosen, out)
		return
	}
	if chosen >= 0 {
		if l := alts[chosen].loop; l >= 0 {
			for _, m := range w.routes.body[l] {
				c := t.cell(r, m)
				c.open, c.taken = w.indegree[m], false
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

// settle records that an edge into a node is taken or not taken, and starts the node if it was the last one.
func (t *Tracker) settle(r, node int32, taken bool, out *Step) {
	if node == exit {
		return
	}
	if t.w.routes.walk[node] >= 0 {
		t.gate(r, node, taken, out)
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

// gate records that an edge into a cyclic part without forks is taken or not taken. If it was the last one, the request
// starts at the node to which the edge taken leads, or the part is left out.
func (t *Tracker) gate(r, node int32, taken bool, out *Step) {
	p := t.w.routes.walk[node]
	g := t.cell(r, int32(len(t.w.function))+p)
	if taken {
		g.taken, g.calls = true, node
	}
	if g.open--; g.open > 0 {
		return
	}
	if g.taken {
		t.start(r, g.calls, out)
		return
	}
	for _, e := range t.w.routes.walks[p].exits {
		t.settle(r, e[1], false, out)
	}
}

// walk moves a request on in a cyclic part without forks, or out of it. The node took the chosen alternative; a node
// without alternatives has one next edge.
func (t *Tracker) walk(r, node int32, chosen int, out *Step) {
	p := t.w.routes.walk[node]
	var to int32
	if chosen >= 0 {
		to = t.w.alts[node][chosen].to
	} else {
		to = t.w.next[node][0]
	}
	if to != exit && t.w.routes.walk[to] == p {
		t.start(r, to, out)
		return
	}
	for _, e := range t.w.routes.walks[p].exits {
		t.settle(r, e[1], e == [2]int32{node, to}, out)
	}
}

// trackerKind is the name of a saved tracker in the state codec.
const trackerKind = "workflow tracker"

// CopyFrom makes t equal to another tracker of the same workflow.
func (t *Tracker) CopyFrom(src *Tracker) error { return state.Copy(t, src) }

// AppendBinary appends the tracker's state.
func (t *Tracker) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, trackerKind, t) }

// UnmarshalBinary restores a saved state of the same workflow. It refuses a damaged state, or one of another workflow,
// and then leaves t unchanged.
func (t *Tracker) UnmarshalBinary(b []byte) error { return state.Load(b, trackerKind, t) }

// State implements [state.Stater]. Cells of runs that are not in flight are empty and not saved.
func (t *Tracker) State(c *state.Codec) {
	c.Same("workflow", t.w.fingerprint)
	state.Value(c, &t.draws)
	state.Slice(c, &t.runs)
	state.Slice(c, &t.free)
	if !c.Stored() {
		state.Slice(c, &t.cells)
		return
	}
	n := t.width()
	if c.Loaded() {
		t.key = rng.New(t.seed, "workflow")
		t.cells = slices.Grow(t.cells[:0], n*len(t.runs))[:n*len(t.runs)]
	}
	for r := range t.runs {
		if t.runs[r].used {
			state.Fixed(c, t.cells[r*n:][:n])
		}
	}
	if c.Loaded() {
		c.Fail(t.consistent())
	}
}

// consistent checks the invariants that later events rely on.
func (t *Tracker) consistent() error {
	used := 0
	for _, r := range t.runs {
		if r.used {
			used++
		} else if r != (run{}) {
			return fmt.Errorf("a run is not in flight, but has %d active visits", r.active)
		}
	}
	if used+len(t.free) != len(t.runs) {
		return fmt.Errorf("%d runs of which %d are in flight and %d free", len(t.runs), used, len(t.free))
	}
	seen := make([]bool, len(t.runs))
	for _, r := range t.free {
		if r < 0 || int(r) >= len(t.runs) || t.runs[r].used || seen[r] {
			return fmt.Errorf("run %d of %d is free twice, or in flight, or beyond the last", r, len(t.runs))
		}
		seen[r] = true
	}
	for r := range t.runs {
		if !t.runs[r].used {
			continue
		}
		if err := t.consistentRun(int32(r)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tracker) consistentRun(r int32) error {
	active := int32(0)
	for m, in := range t.w.indegree {
		c := t.cell(r, int32(m))
		if c.phase != idle {
			active++
		}
		callees := int32(len(t.w.calls[m]))
		under := func(k int32) bool { return t.cell(r, k).phase != idle }
		ok := c.open >= 0 && c.open <= in && c.number >= 0 && c.phase < phases && (c.phase == idle || c.number > 0)
		switch {
		case !ok:
		case c.phase == calling:
			ok = c.calls >= 1 && c.calls <= callees
			if ok && t.w.mode[m] == OneByOne {
				ok = under(t.w.calls[m][c.calls-1])
			}
			running := int32(0)
			for _, k := range t.w.calls[m] {
				if under(k) {
					running++
				}
			}
			ok = ok && (running == c.calls || t.w.mode[m] == OneByOne && running == 1)
		default:
			ok = !slices.ContainsFunc(t.w.calls[m], under)
		}
		if !ok {
			return fmt.Errorf("run %d cannot have node %q in phase %d with %d visits begun and %d calls",
				r, t.w.NodeName(m), c.phase, c.number, c.calls)
		}
	}
	for p, k := range t.w.routes.walks {
		g := t.cell(r, int32(len(t.w.indegree)+p))
		if g.open < 0 || g.open > k.enter || g.calls < 0 || int(g.calls) >= len(t.w.indegree) ||
			g.taken && t.w.routes.walk[g.calls] != int32(p) {
			return fmt.Errorf("run %d cannot enter a cyclic part at node %d with %d edges to come", r, g.calls, g.open)
		}
	}
	if active == 0 || active != t.runs[r].active {
		return fmt.Errorf("run %d has %d active visits, says %d", r, active, t.runs[r].active)
	}
	return nil
}
