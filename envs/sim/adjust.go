package sim

import "fmt"

// Adjust is a vertical resize: it changes CPU, memory, GPU slices, speed, contention and concurrency of a
// function's present instances in place, running requests included, and its limits. Instances of an earlier
// revision, on their way out, stay as they are. It fails, changing nothing, where a node has no room.
func (s *Sim) Adjust(function int, z Sizing) error {
	if err := s.checkSizing(function, z); err != nil {
		return err
	}
	fi := int32(function)
	f := &s.fns[fi]
	v := &s.revs[f.revision]
	if err := s.moveRoom(f, &v.Sizing, &z); err != nil {
		return err
	}
	f.gauge.touch(s.cal.now)
	g := &f.gauge.now
	s.scratch = s.scratch[:0]
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		if in.rev != f.revision {
			continue
		}
		s.sync(in)
		s.scratch = append(s.scratch, i, in.n)
		s.load(f, in, v, 0)
		if in.state != Pending {
			g[lvCPU] += int64(z.CPU) - int64(v.CPU)
			g[lvMemory] += int64(z.Memory) - int64(v.Memory)
			g[lvGPU] += int64(z.GPU) - int64(v.GPU)
		}
	}
	shrunk := z.CPU < v.CPU || z.Memory < v.Memory || z.GPU < v.GPU
	v.Sizing = z
	v.fillRates()
	s.makeBuckets(fi, z.Concurrency)
	for j := 0; j < len(s.scratch); j += 2 {
		in := &s.insts[s.scratch[j]]
		s.load(f, in, v, s.scratch[j+1])
	}
	for j := 0; j < len(s.scratch); j += 2 {
		i := s.scratch[j]
		switch s.insts[i].state {
		case Idle, Busy:
			s.settle(i)
		case Draining:
			s.pace(&s.insts[i])
		}
	}
	if shrunk && len(s.nodes) > 0 {
		s.placeAll(fi)
	}
	s.setLimits(fi, z)
	return nil
}

// moveRoom changes the room that f's present instances hold on their nodes from one sizing to another.
func (s *Sim) moveRoom(f *function, from, to *Sizing) error {
	if len(s.nodes) == 0 || from.CPU == to.CPU && from.Memory == to.Memory && from.GPU == to.GPU {
		return nil
	}
	stop := int32(none) // where the walk ended for lack of room
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		if in.rev != f.revision || in.node == none {
			continue
		}
		s.nodeTake(in.node, from, -1)
		if !s.nodes[in.node].free.holds(to) {
			s.nodeTake(in.node, from, 1)
			stop = i
			break
		}
		s.nodeTake(in.node, to, 1)
	}
	if stop == none {
		return nil
	}
	for i := f.all.head; i != stop; i = s.insts[i].all.next {
		if in := &s.insts[i]; in.rev == f.revision && in.node != none {
			s.nodeTake(in.node, to, -1)
			s.nodeTake(in.node, from, 1)
		}
	}
	k := s.insts[stop].node
	return fmt.Errorf("sim: adjusting %s: node %d has %+v left, which does not hold %+v in place of %+v",
		s.name(s.insts[stop].fn), k, s.nodes[k].free, room(to), room(from))
}

func room(z *Sizing) Node { return Node{z.CPU, z.Memory, z.GPU} }

// name is how errors call function fi.
func (s *Sim) name(fi int32) string {
	if n := s.plan.cfg.Functions[fi].Name; n != "" {
		return fmt.Sprintf("function %d (%s)", fi, n)
	}
	return fmt.Sprintf("function %d", fi)
}

// placeAll follows a shrinking of function fi's instances: its own pending ones may now fit anywhere, those of
// others where it has made room.
func (s *Sim) placeAll(fi int32) {
	f := &s.fns[fi]
	for f.nPending > 0 {
		k := s.findNode(&s.revs[f.revision].Sizing)
		if k == none {
			break
		}
		s.placeNext(f, k)
	}
	for k := range s.nodes {
		s.placePending(int32(k))
	}
}

// AnyNode leaves the node to the placement policy.
const AnyNode = -1

// Launch starts an instance on the given node, or on AnyNode (pending where none has room; the only choice in
// an unlimited cluster). It fails where the node has no room or the function has Max instances. What is launched
// beyond Min expires like any other.
func (s *Sim) Launch(function, node int) (InstanceID, error) {
	if err := s.checkFunction(function); err != nil {
		return 0, err
	}
	fi := int32(function)
	f := &s.fns[fi]
	if f.live+f.old >= f.max {
		return 0, fmt.Errorf("sim: launching %s: it has %d instances already, its Max is %d", s.name(fi), f.live+f.old, f.max)
	}
	if node != AnyNode {
		if node < 0 || node >= len(s.nodes) {
			return 0, fmt.Errorf("sim: launching %s: node is %d, want AnyNode or 0 to %d", s.name(fi), node, len(s.nodes)-1)
		}
		if z := &s.revs[f.revision].Sizing; !s.nodes[node].free.holds(z) {
			return 0, fmt.Errorf("sim: launching %s: node %d has %+v left, which does not hold %+v", s.name(fi), node,
				s.nodes[node].free, room(z))
		}
	}
	i := s.launch(fi, int32(node))
	return s.insts[i].id(i), nil
}

// find is the pool place of a living instance.
func (s *Sim) find(id InstanceID) (int32, error) {
	i := int64(uint32(id))
	if id == 0 || i >= int64(len(s.insts)) || s.insts[i].gen != uint32(id>>32) || s.insts[i].state == Gone {
		return none, fmt.Errorf("sim: instance %#x has ended or never was", uint64(id))
	}
	return int32(i), nil
}

// Retire ends an instance once it has finished what it runs; below Min another starts in its place.
func (s *Sim) Retire(id InstanceID) error {
	i, err := s.find(id)
	if err != nil {
		return err
	}
	fi := s.insts[i].fn
	s.drain(i)
	s.reconcile(fi)
	return nil
}

// Kill ends an instance now. What it ran is reported Killed, or with requeue goes back to the front of the queue
// as a further attempt.
func (s *Sim) Kill(id InstanceID, requeue bool) error {
	i, err := s.find(id)
	if err != nil {
		return err
	}
	fi := s.insts[i].fn
	s.kill(i, requeue)
	s.reconcile(fi)
	return nil
}
