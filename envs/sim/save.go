package sim

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
)

// kind names saved simulations.
const kind = "sim"

// CopyFrom makes s a copy of o: state, meters, calendar and configuration. The two are independent afterwards. It
// does not allocate once s has held as much. It may be called from a handler of o, not from one of s.
func (s *Sim) CopyFrom(o *Sim) {
	if err := state.Copy(s, o); err != nil { // both have the same fields, and s takes o's configuration
		panic(err)
	}
}

// AppendBinary appends the simulation's state, meters included. The handler is not part of it.
func (s *Sim) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, kind, s) }

// UnmarshalBinary restores a state that AppendBinary wrote for a simulation of the same Config, prices aside. On any
// error s stays as it was.
func (s *Sim) UnmarshalBinary(b []byte) error { return state.Load(b, kind, s) }

// State implements [state.Stater]. What follows from the rest (node index, places in the calendar) is copied but not
// saved, and the calendar is saved in order of time: equal states give equal bytes.
func (s *Sim) State(c *state.Codec) {
	if o := state.Source(c, s); o != nil && s.plan != o.plan {
		s.plan, s.sketches = o.plan, nil
		s.resetSketches()
	}
	if c.Stored() {
		c.Same("configuration", s.plan.fingerprint)
	}
	state.Value(c, &s.scalars)
	if s.plan.cfg.StartRate > 0 {
		state.Value(c, &s.starts)
	}
	c.Part(&s.cal)
	state.Slice(c, &s.fns)
	state.Slice(c, &s.revs)
	state.Slice(c, &s.insts)
	state.Slice(c, &s.reqs)
	state.Slice(c, &s.timers)
	state.Slice(c, &s.nodes)
	c.Part(&s.finder)
	state.Slice(c, &s.waiting)
	state.Slice(c, &s.buckets)
	state.Slice(c, &s.masks)
	state.Slice(c, &s.rows)
	for i := range s.sketches {
		c.Part(&s.sketches[i])
	}
	if c.Loaded() {
		c.Fail(s.rebuild())
	}
	if c.Loaded() {
		c.Fail(s.check())
	}
	if c.Filled() {
		s.handler, s.paused = silent{}, false
	}
}

// State implements [state.Stater].
func (k *calendar) State(c *state.Codec) {
	if c.Stored() {
		heap, due := k.sorted()
		state.Value(c, &k.now)
		state.Value(c, &k.seq)
		state.Slice(c, &heap)
		state.Slice(c, &due)
		if c.Loaded() {
			k.heap, k.due, k.hole, k.head = heap, due, false, 0
		}
		return
	}
	state.Value(c, &k.clock)
	state.Slice(c, &k.heap)
	state.Slice(c, &k.due)
	state.Slice(c, &k.pos)
	state.Slice(c, &k.what)
}

// sorted is the calendar's content in order: what lies ahead and what is due.
func (k *calendar) sorted() (heap []entry, due []int32) {
	heap = slices.Clone(k.heap)
	if k.hole {
		heap = heap[1:]
	}
	slices.SortFunc(heap, func(a, b entry) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for _, h := range k.due[k.head:] {
		if h >= 0 {
			due = append(due, h)
		}
	}
	return heap, due
}

// State implements [state.Stater].
func (f *finder) State(c *state.Codec) {
	if c.Stored() {
		state.Value(c, &f.cursor) // the index follows from the nodes
		return
	}
	state.Value(c, &f.roots)
	state.Slice(c, &f.top)
	state.Slice(c, &f.left)
	state.Slice(c, &f.right)
}

// State implements [state.Stater]. Only the range in use is copied and saved.
func (k *Sketch) State(c *state.Codec) {
	if o := state.Source(c, k); o != nil {
		k.CopyFrom(o)
	}
	if !c.Stored() {
		return
	}
	lo, hi := k.lo, k.hi
	state.Value(c, &lo)
	state.Value(c, &hi)
	if !c.Check(lo >= 0 && lo <= hi && hi <= len(k.counts), "a sketch of %d buckets uses those from %d to %d",
		len(k.counts), lo, hi) {
		return
	}
	if c.Loaded() {
		k.Reset()
		k.lo, k.hi = lo, hi
	}
	state.Fixed(c, k.counts[lo:hi])
	if c.Loaded() {
		for _, n := range k.counts[lo:hi] {
			k.n += n
		}
	}
}

// shape lists all in a configuration that shapes results or the state's layout: names and prices do not.
type shape struct{ *Config }

// State implements [state.Stater].
func (s shape) State(c *state.Codec) {
	state.Value(c, &s.Placement)
	state.Value(c, &s.SketchBits)
	if s.StartRate > 0 {
		state.Value(c, &s.StartRate)
	}
	state.Slice(c, &s.Nodes)
	for i := range s.Functions {
		f := &s.Functions[i]
		for _, l := range []*Law{&f.Demand, &f.ColdStart} {
			state.Value(c, &l.Kind)
			state.Value(c, &l.Mean)
			state.Value(c, &l.CV)
			state.Slice(c, &l.Table)
		}
		state.Value(c, &f.Sizing)
		state.Value(c, &f.Warm)
		state.Value(c, &f.Dispatch)
		state.Value(c, &f.BindCold)
		for _, n := range []*int32{&f.Queue, &f.MaxInflight, &f.RequestCPU, &f.IdleMemory, &f.RequestMemory} {
			state.Value(c, n)
		}
		for _, t := range []*Time{&f.QueueTimeout, &f.Timeout, &f.KeepAlive, &f.SLO} {
			state.Value(c, t)
		}
	}
}

// rebuild makes what a saved state leaves out. It trusts nothing that it indexes with.
func (s *Sim) rebuild() error {
	if len(s.fns) != len(s.plan.fn) || len(s.nodes) != len(s.plan.cfg.Nodes) {
		return fmt.Errorf("%d functions and %d nodes, want %d and %d", len(s.fns), len(s.nodes), len(s.plan.fn),
			len(s.plan.cfg.Nodes))
	}
	for i := range s.fns {
		s.keys(int32(i))
	}
	for i := range s.revs {
		if s.revs[i].refs > 0 {
			if err := s.revs[i].validate(fmt.Sprintf("revision %d", i)); err != nil {
				return err
			}
			s.revs[i].fillRates()
		}
	}
	cursor := s.finder.cursor
	if cursor < 0 || int(cursor) > max(0, len(s.nodes)-1) {
		return fmt.Errorf("the placement's cursor is %d of %d nodes", cursor, len(s.nodes))
	}
	s.finder.reset(s.plan.cfg.Placement, s.nodes)
	s.finder.cursor = cursor
	return s.rebuildHandles()
}

// rebuildHandles gives each calendar handle back to its owner and finds its event.
func (s *Sim) rebuildHandles() error {
	c := &s.cal
	n := 3*len(s.fns) + len(s.insts) + len(s.reqs) + len(s.timers)
	if n >= maxPool {
		return fmt.Errorf("%d calendar handles, want fewer than %d", n, maxPool)
	}
	const unowned = ^ref(0)
	c.pos, c.what = make([]int32, n), make([]ref, n)
	for h := range c.pos {
		c.pos[h], c.what[h] = unscheduled, unowned
	}
	var err error
	own := func(h int32, k eventKind, owner int) {
		if err == nil && (h < 0 || int(h) >= n || c.what[h] != unowned) {
			err = fmt.Errorf("calendar handle %d of %d is not free for event kind %d of %d", h, n, k, owner)
		}
		if err == nil {
			c.what[h] = ref(k)<<refIndexBits | ref(owner)
		}
	}
	for i := range s.fns {
		own(s.fns[i].expire, evExpire, i)
		own(s.fns[i].queueTimer, evQueueTimeout, i)
		own(s.fns[i].ageTimer, evTimeout, i)
	}
	for i := range s.insts {
		own(s.insts[i].h, evInstance, i)
	}
	for i := range s.reqs {
		own(s.reqs[i].h, evRequest, i)
	}
	for i := range s.timers {
		own(s.timers[i].h, evTimer, i)
	}
	if err != nil {
		return err
	}
	put := func(h, pos int32) {
		if err == nil && (h < 0 || int(h) >= n || c.pos[h] != unscheduled) {
			err = fmt.Errorf("calendar handle %d of %d has two events or none such exists", h, n)
		}
		if err == nil {
			c.pos[h] = pos
		}
	}
	for i := range c.heap {
		put(c.heap[i].h, int32(i))
	}
	for i, h := range c.due {
		put(h, dueBase-int32(i))
	}
	return err
}
