package sim

import "fmt"

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
