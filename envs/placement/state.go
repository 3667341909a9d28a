package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/heap"
	"github.com/stoker-rl/stoker/internal/reuse"
)

// CopyFrom implements [envs.Env].
func (e *Env) CopyFrom(src envs.Env) error {
	s, ok := src.(*Env)
	if !ok {
		return fmt.Errorf("%s: copy from a %T", ID, src)
	}
	if err := state.Copy(e, s); err != nil {
		return fmt.Errorf("%s: %w", ID, err)
	}
	return nil
}

// AppendBinary implements [envs.Env].
func (e *Env) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, ID, e) }

// UnmarshalBinary implements [envs.Env]. A state that is refused changes nothing.
func (e *Env) UnmarshalBinary(b []byte) error { return state.Load(b, ID, e) }

// State lists the state. What follows from other fields is copied, but not saved: [Env.restore] makes it anew.
func (e *Env) State(c *state.Codec) {
	c.Same("system", e.s.fingerprint)
	state.Value(c, &e.episode)
	c.Part(&e.arrivals)
	state.Slice(c, &e.requests)
	state.Slice(c, &e.free)
	state.Slice(c, &e.invocations)
	state.Slice(c, &e.window)
	state.Slice(c, &e.backlog)
	state.Slice(c, &e.active)
	state.Slice(c, &e.idle)
	c.Part(&e.tally)
	if c.Stored() {
		for n := range e.nodes {
			state.Value(c, &e.nodes[n].recent)
		}
		for f := range e.functions {
			state.Value(c, &e.functions[f].since)
			state.Value(c, &e.functions[f].cold)
		}
	} else {
		state.Slice(c, &e.rows)
		state.Slice(c, &e.levels)
		state.Slice(c, &e.ends)
		state.Fixed(c, e.nodes)
		state.Fixed(c, e.pairs)
		state.Fixed(c, e.fits)
		state.Fixed(c, e.warm)
		state.Fixed(c, e.functions)
		state.Value(c, &e.sums)
		state.Fixed(c, e.cached.nodes)
	}
	if c.Loaded() && e.begun {
		c.Fail(e.restore())
	}
	c.Check(e.begun || !e.running, "an episode is under way that has not begun")
}

// restore checks what was loaded against the rules, and computes the fields that are not saved.
func (e *Env) restore() error {
	if most := max(e.c.Load, e.c.LoadTo); !(e.load >= 0 && e.load <= most) || e.now < 0 || e.now > micros(e.c.MaxTime) {
		return fmt.Errorf("load %g at %d µs, want 0 to %g and 0 to %d", e.load, e.now, most, micros(e.c.MaxTime))
	}
	for n := range e.nodes {
		if x := e.nodes[n].recent; !(x >= 0 && x <= 1) {
			return fmt.Errorf("node %d used %g of its CPU of late, want 0 to 1", n, x)
		}
	}
	for f := range e.functions {
		if l := &e.functions[f]; l.since < -1 || l.since > e.now || !(l.cold >= 0 && l.cold <= 1) {
			return fmt.Errorf("function %d was invoked at %d µs, and %g of its starts were cold", f, l.since, l.cold)
		}
	}
	if err := e.arrivals.restore(e.load); err != nil {
		return err
	}
	e.derived()
	for _, check := range []func() error{e.restoreRequests, e.restoreWaiting, e.restoreRunning, e.restoreIdle} {
		if err := check(); err != nil {
			return err
		}
	}
	for n := range e.nodes {
		e.refit(int32(n))
	}
	return nil
}

// derived resets the fields that are not saved, as at the start of an episode.
func (e *Env) derived() {
	e.levels, e.rows = reuse.Slice(e.levels, len(e.invocations)), reuse.Slice(e.rows, len(e.invocations)*e.layout.still())
	clear(e.levels)
	clear(e.rows)
	e.ends, e.sums = e.ends[:0], sums{}
	clear(e.pairs)
	clear(e.fits)
	clear(e.warm)
	for n := range e.nodes {
		e.nodes[n] = node{free: e.s.nodes[n].capacity, recent: e.nodes[n].recent}
	}
	for f := range e.functions {
		e.functions[f] = functionState{since: e.functions[f].since, cold: e.functions[f].cold}
	}
}

// restoreRequests checks the requests and their invocations, and counts the invocations that are done.
func (e *Env) restoreRequests() error {
	if len(e.requests) > e.c.Most || len(e.invocations) != len(e.requests)*e.s.steps {
		return fmt.Errorf("%d requests with %d invocations, want at most %d with %d each", len(e.requests),
			len(e.invocations),
			e.c.Most, e.s.steps)
	}
	free := 0
	for i := range e.requests {
		q := &e.requests[i]
		if q.left == 0 {
			free++
			continue
		}
		if q.workflow < 0 || int(q.workflow) >= len(e.s.workflows) || q.priority < 0 ||
			int(q.priority) >= len(e.c.Priorities) {
			return fmt.Errorf("request %d is of workflow %d and priority %d, want below %d and %d",
				i, q.workflow, q.priority, len(e.s.workflows), len(e.c.Priorities))
		}
		if q.arrived < 0 || q.arrived > e.now || !(q.size >= e.c.Size.Low && q.size <= e.c.Size.High) ||
			q.ideal != float64(e.s.workflows[q.workflow].ideal*q.size) || q.inverse != int64(fraction/q.ideal) ||
			q.work-q.work != 0 {
			return fmt.Errorf("request %d arrived at %d µs with size %g and ideal response time %g s, which cannot be", i,
				q.arrived, q.size, q.ideal)
		}
		e.weight += q.inverse
		q.used, q.held = vector{}, 0
		if err := e.restoreInvocations(int32(i), q); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	listed := make([]bool, len(e.requests))
	for _, i := range e.free {
		if i < 0 || int(i) >= len(e.requests) || e.requests[i].left != 0 || listed[i] {
			return fmt.Errorf("place %d is not free, or is listed twice", i)
		}
		listed[i] = true
	}
	if free != len(e.free) {
		return fmt.Errorf("%d places are listed as free, want %d", len(e.free), free)
	}
	return nil
}

// restoreInvocations checks the invocations of request i.
func (e *Env) restoreInvocations(i int32, q *request) error {
	t := &e.s.workflows[q.workflow]
	first := int(i) * e.s.steps
	running := func(v *invocation) bool { return v.node >= 0 && v.finish > e.now }
	left := int32(0)
	for j := range t.steps {
		v, st := &e.invocations[first+j], &t.steps[j]
		if v.request != i || int(v.step) != j || v.function != st.function || v.work != float64(st.work*q.size) ||
			!(v.noise > 0) || !(v.input >= 0) || v.since > e.now {
			return fmt.Errorf("invocation %d is not that of its workflow", j)
		}
		if v.node < -1 || int(v.node) >= len(e.nodes) || v.amount < -1 || int(v.amount) >= len(e.c.Amounts) ||
			(v.node < 0) != (v.amount < 0) {
			return fmt.Errorf("invocation %d runs on node %d with amount %d", j, v.node, v.amount)
		}
		pending := int32(0)
		for _, p := range st.after {
			if w := &e.invocations[first+int(p)]; w.node < 0 || running(w) {
				pending++
			}
		}
		if pending != v.pending || pending > 0 && v.node >= 0 {
			return fmt.Errorf("invocation %d runs on node %d and comes after %d that are not done, want %d", j, v.node,
				v.pending, pending)
		}
		if v.node < 0 || running(v) {
			left++
		} else {
			e.levels[first+int(st.level)]++
		}
		if pending == 0 {
			e.cached.waits(&e.view, int32(first+j))
		}
	}
	if left != q.left {
		return fmt.Errorf("%d invocations are left, want %d", q.left, left)
	}
	return nil
}

// restoreWaiting checks that window and backlog hold exactly the invocations that wait.
func (e *Env) restoreWaiting() error {
	if len(e.window) > e.c.Window || e.head < 0 || e.head > len(e.backlog) {
		return fmt.Errorf("a window of %d and a backlog of %d from %d on, want a window of at most %d", len(e.window),
			len(e.backlog), e.head, e.c.Window)
	}
	listed := make([]bool, len(e.invocations))
	take := func(i int32) (*functionState, error) {
		if i < 0 || int(i) >= len(e.invocations) || listed[i] || !e.waits(i) {
			return nil, fmt.Errorf("invocation %d does not wait, or is listed twice", i)
		}
		listed[i] = true
		l := &e.functions[e.invocations[i].function]
		l.waiting++
		return l, nil
	}
	for _, i := range e.window {
		l, err := take(i)
		if err != nil {
			return err
		}
		l.shown++
	}
	for _, i := range e.backlog[e.head:] {
		if _, err := take(i); err != nil {
			return err
		}
	}
	for i := range e.invocations {
		if e.waits(int32(i)) != listed[i] {
			return fmt.Errorf("invocation %d waits, but neither in the window nor in the backlog", i)
		}
	}
	return nil
}

// waits reports whether an invocation waits.
func (e *Env) waits(i int32) bool {
	v := &e.invocations[i]
	return e.exists(i) && v.pending == 0 && v.node < 0
}

// restoreRunning gives the invocations that run their resources.
func (e *Env) restoreRunning() error {
	listed := make([]bool, len(e.invocations))
	for _, i := range e.active {
		if i < 0 || int(i) >= len(e.invocations) || listed[i] || !e.runs(i) {
			return fmt.Errorf("invocation %d does not run, or is listed twice among those that do", i)
		}
		listed[i] = true
		e.occupy(&e.invocations[i], 1)
		heap.Push(&e.ends, ending{e.invocations[i].finish, i})
	}
	for i := range e.invocations {
		if e.runs(int32(i)) && !listed[i] {
			return fmt.Errorf("invocation %d runs, but is not listed", i)
		}
	}
	return nil
}

// runs reports whether an invocation runs.
func (e *Env) runs(i int32) bool {
	v := &e.invocations[i]
	return e.exists(i) && v.node >= 0 && v.finish > e.now
}

// exists reports whether there is such an invocation: its request is in the system, and its workflow has the step.
func (e *Env) exists(i int32) bool {
	q := &e.requests[int(i)/e.s.steps]
	return q.left > 0 && int(i)%e.s.steps < len(e.s.workflows[q.workflow].steps)
}

// restoreIdle gives the idle warm instances their memory. After it no node may lack a resource.
func (e *Env) restoreIdle() error {
	for k, x := range e.idle {
		if x.function < 0 || int(x.function) >= len(e.functions) || x.node < 0 || int(x.node) >= len(e.nodes) {
			return fmt.Errorf("an idle instance of function %d on node %d, want below %d and %d", x.function, x.node,
				len(e.functions), len(e.nodes))
		}
		if x.expires <= e.now || k > 0 && x.expires < e.idle[k-1].expires {
			return fmt.Errorf("idle instance %d expires at %d µs, before now or before the one before it", k, x.expires)
		}
		e.keep(x, 1)
	}
	for n := range e.nodes {
		for r, x := range e.nodes[n].free {
			if x < 0 {
				return fmt.Errorf("node %d has %d of %s left", n, x, ResourceNames[r])
			}
		}
	}
	return nil
}
