package sizing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sim"
)

// CopyFrom implements [envs.Env]. Whether the copy is quiet is its own affair.
func (e *Env) CopyFrom(src envs.Env) error {
	s, ok := envs.As[*Env](src)
	if !ok {
		return fmt.Errorf("%s: cannot be copied from a %T", ID, src)
	}
	if s.print != e.print {
		return fmt.Errorf("%s: cannot be copied from an environment of another configuration", ID)
	}
	if e == s {
		return nil
	}
	if err := e.tracker.CopyFrom(s.tracker); err != nil {
		return err
	}
	if e.arrivals != nil {
		if err := e.arrivals.CopyFrom(s.arrivals); err != nil {
			return err
		}
	}
	if e.source.Closed() {
		e.users = s.users
	}
	e.sim.CopyFrom(s.sim)
	e.keys = s.keys
	e.state.copyFrom(&s.state)
	return nil
}

func (s *state) copyFrom(o *state) {
	old := *s
	*s = *o
	s.asked = append(old.asked[:0], o.asked...)
	s.inForce = append(old.inForce[:0], o.inForce...)
	s.action = append(old.action[:0], o.action...)
	s.requests = append(old.requests[:0], o.requests...)
	s.visited = append(old.visited[:0], o.visited...)
	s.interference = append(old.interference[:0], o.interference...)
	s.latencies = append(old.latencies[:0], o.latencies...)
	s.functions = append(old.functions[:0], o.functions...)
	s.gates, s.durations = old.gates, old.durations
	for f := range o.gates {
		g := &o.gates[f]
		s.gates[f].taken, s.gates[f].head = g.taken, 0
		s.gates[f].queue = append(s.gates[f].queue[:0], g.queue[g.head:]...)
		// The books of a function are made up at the end of a window, and copies are taken between windows.
		s.durations[f] = s.durations[f][:0]
	}
}

const stateVersion = 1

// AppendBinary implements [envs.Env].
func (e *Env) AppendBinary(b []byte) ([]byte, error) {
	w := writer{b: b}
	w.uint(stateVersion)
	w.uint(e.print)
	e.state.encode(&w)
	for _, part := range e.parts() {
		// The length comes before the part, whose length is known only behind it.
		at := len(w.b)
		w.uint(0)
		var err error
		if w.b, err = part.AppendBinary(w.b); err != nil {
			return nil, err
		}
		binary.LittleEndian.PutUint64(w.b[at:], uint64(len(w.b)-at-8))
	}
	return w.b, nil
}

type part interface {
	AppendBinary(b []byte) ([]byte, error)
	UnmarshalBinary(b []byte) error
}

// parts are what saves itself.
func (e *Env) parts() []part {
	p := []part{e.sim, e.tracker}
	if e.arrivals != nil {
		p = append(p, e.arrivals)
	}
	return p
}

// UnmarshalBinary implements [envs.Env]. A damaged or foreign state is refused and changes nothing.
func (e *Env) UnmarshalBinary(b []byte) error {
	r := reader{b: b}
	if v := r.uint(); v != stateVersion {
		return fmt.Errorf("%s: saved state of version %d, want %d", ID, v, stateVersion)
	}
	if r.uint() != e.print {
		return fmt.Errorf("%s: the saved state is of another configuration", ID)
	}
	// Into a twin first, so that a damaged state changes nothing.
	t, err := e.Twin()
	if err != nil {
		return err
	}
	t.state.decode(&r)
	for _, p := range t.parts() {
		part := r.bytes()
		if r.err != nil {
			break
		}
		if err := p.UnmarshalBinary(part); err != nil {
			return err
		}
	}
	if r.err == nil && len(r.b) > 0 {
		r.err = errDamaged
	}
	if r.err == nil {
		r.err = t.consistent()
	}
	if r.err != nil {
		return r.err
	}
	t.keys = newKeys(t.seed)
	if t.source.Closed() {
		if t.users, err = t.source.Users(t.seed); err != nil {
			return err
		}
	}
	return e.CopyFrom(t)
}

var errDamaged = errors.New(ID + ": the saved state is damaged")

// consistent refuses states that no episode reaches.
func (e *Env) consistent() error {
	if e.windows < 0 || e.windows > e.cfg.Windows || e.all < 0 || e.all > e.needed() || e.userCount < 0 || len(e.asked) != e.userCount {
		return errDamaged
	}
	if e.tracker.Live() > len(e.requests) {
		return errDamaged
	}
	nodes, n := e.app.flow.NumNodes(), len(e.inForce)
	if e.app.anyGated() && len(e.visited) != nodes*len(e.requests) {
		return errDamaged
	}
	for f, r := range e.inForce {
		if r.Replicas < 0 || r.Replicas > 1<<16 || r.Concurrency < 0 || r.Concurrency > 1<<16 || f >= n {
			return errDamaged
		}
	}
	for f := range e.gates {
		for _, t := range e.gates[f].queue {
			if run, node, _, _ := untag(t); int(run) >= len(e.requests) || int(node) >= nodes || e.app.flow.Function(int(node)) != f {
				return errDamaged
			}
		}
	}
	for i := range e.requests {
		if e.requests[i].held>>nodes != 0 || int(e.requests[i].user) >= max(e.userCount, 1) || e.requests[i].user < 0 {
			return errDamaged
		}
	}
	return nil
}

// encode writes the state, and decode reads it: one list of fields for both.
func (s *state) encode(w *writer) { s.each(w) }

func (s *state) decode(r *reader) { s.each(r) }

// coder takes fields one after another: a writer appends them, a reader fills them in.
type coder interface {
	uint64(x *uint64)
	// count is the length of a list whose elements take at least size bytes.
	count(n, size int) int
}

// each visits every field of the state that is not made anew in each window.
func (s *state) each(c coder) {
	c.uint64(&s.seed)
	flags := []*bool{&s.started, &s.ended, &s.more, &s.open, &s.counting, &s.muted, &s.refusedNow, &s.violated}
	for _, f := range flags {
		codeBool(c, f)
	}
	for _, x := range []*int{
		&s.windows, &s.all, &s.userCount, &s.slot, &s.begun, &s.failures, &s.qos.Count, &s.successes, &s.failed, &s.seen,
	} {
		codeInt(c, x)
	}
	for _, x := range []*float64{
		&s.qos.Latency, &s.qos.Success, &s.lastLoad, &s.price, &s.cost, &s.cores, &s.memory, &s.load, &s.latency, &s.p75, &s.p95, &s.success,
	} {
		codeFloat(c, x)
	}
	codeInt(c, &s.offset)
	codeInt(c, &s.next.Time)
	codeInt(c, &s.next.Stream)
	codeInt(c, &s.next.Number)
	codeInt(c, &s.until)
	codeInt(c, &s.generation)
	codeList(c, &s.asked, 8, func(x *uint32) { codeInt(c, x) })
	for f := range s.inForce {
		r := &s.inForce[f]
		for _, x := range []*int{&r.CPU, &r.Memory, &r.Replicas, &r.Concurrency} {
			codeInt(c, x)
		}
		codeFloat(c, &s.interference[f])
		g := &s.gates[f]
		codeInt(c, &g.taken)
		waiting := g.queue[g.head:]
		codeList(c, &waiting, 8, c.uint64)
		g.queue, g.head = waiting, 0
	}
	for i := range s.action {
		x := float64(s.action[i])
		codeFloat(c, &x)
		s.action[i] = float32(x)
	}
	codeList(c, &s.requests, 64, func(q *request) {
		codeInt(c, &q.begun)
		c.uint64(&q.a)
		c.uint64(&q.b)
		codeInt(c, &q.user)
		codeInt(c, &q.number)
		codeInt(c, &q.use)
		c.uint64(&q.held)
		codeBool(c, &q.failed)
	})
	codeList(c, &s.visited, 8, func(t *sim.Time) { codeInt(c, t) })
	codeList(c, &s.latencies, 8, func(x *float64) { codeFloat(c, x) })
	for f := range s.functions {
		x := &s.functions[f]
		for _, v := range []*float64{&x.price, &x.cpu, &x.throttled, &x.memory, &x.network, &x.p75, &x.p95, &x.mean, &x.rejected, &x.inside} {
			codeFloat(c, v)
		}
	}
}

func codeBool(c coder, x *bool) {
	var v uint64
	if *x {
		v = 1
	}
	c.uint64(&v)
	*x = v == 1
}

func codeInt[T ~int | ~int32 | ~int64 | ~uint32](c coder, x *T) {
	v := uint64(*x)
	c.uint64(&v)
	*x = T(v)
}

func codeFloat(c coder, x *float64) {
	v := math.Float64bits(*x)
	c.uint64(&v)
	*x = math.Float64frombits(v)
}

func codeList[T any](c coder, list *[]T, size int, each func(*T)) {
	n := c.count(len(*list), size)
	for len(*list) < n {
		var zero T
		*list = append(*list, zero)
	}
	*list = (*list)[:n]
	for i := range *list {
		each(&(*list)[i])
	}
}

type writer struct{ b []byte }

func (w *writer) uint(x uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, x) }

func (w *writer) uint64(x *uint64) { w.uint(*x) }

func (w *writer) count(n, _ int) int { w.uint(uint64(n)); return n }

type reader struct {
	b   []byte
	err error
}

func (r *reader) uint() uint64 {
	if len(r.b) < 8 {
		r.b, r.err = nil, errDamaged
		return 0
	}
	x := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return x
}

func (r *reader) uint64(x *uint64) { *x = r.uint() }

func (r *reader) count(_, size int) int {
	n := r.uint()
	if n > uint64(len(r.b)/size) {
		r.b, r.err = nil, errDamaged
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.count(0, 1)
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}
