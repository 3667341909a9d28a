package sim

import (
	"fmt"
	"math"
)

// SetKeepAlive changes a function's keep-alive (0: never expire).
func (s *Sim) SetKeepAlive(function int, keepAlive Time) error {
	if err := s.checkFunction(function); err != nil {
		return err
	}
	if keepAlive < 0 || keepAlive > MaxSpan {
		return fmt.Errorf("sim: function %d: keep-alive is %d µs, want 0 (never) to %d", function, keepAlive, MaxSpan)
	}
	f := &s.fns[function]
	f.keepAlive = keepAlive
	s.cal.cancel(f.expire)
	s.armExpire(int32(function))
	return nil
}

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
	var scratch []int32
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		if in.rev != f.revision {
			continue
		}
		s.sync(in)
		scratch = append(scratch, i, in.n)
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
	for j := 0; j < len(scratch); j += 2 {
		in := &s.insts[scratch[j]]
		s.load(f, in, v, scratch[j+1])
	}
	for j := 0; j < len(scratch); j += 2 {
		i := scratch[j]
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

// NextInstance walks a function's instances, oldest first: after = 0 gives the first, and 0 comes after the last
// or after an instance that has ended.
func (s *Sim) NextInstance(function int, after InstanceID) InstanceID {
	if function < 0 || function >= len(s.fns) {
		return 0
	}
	i := s.fns[function].all.head
	if after != 0 {
		k, err := s.find(after)
		if err != nil || int(s.insts[k].fn) != function {
			return 0
		}
		i = s.insts[k].all.next
	}
	if i == none {
		return 0
	}
	return s.insts[i].id(i)
}

// NodeFree is what a node has left; one that does not exist has nothing.
func (s *Sim) NodeFree(k int) Node {
	if k < 0 || k >= len(s.nodes) {
		return Node{}
	}
	return s.nodes[k].free
}

// Extend makes m the meter of its window and o's, a later one of the same functions, together.
func (m *Meter) Extend(o *Meter) {
	m.merge(o)
	m.To = o.To
	m.span += o.span
}

// Throughput is completed requests a second.
func (m *Meter) Throughput() float64 {
	if m.span <= 0 {
		return 0
	}
	return float64(m.Completed) / m.span.Seconds()
}

// AllocatedGPU is the mean of placed instances' GPU slices.
func (m *Meter) AllocatedGPU() float64 { return m.average(m.area[lvGPU]) }

// BusyGPU is the mean of busy instances' GPU slices.
func (m *Meter) BusyGPU() float64 { return m.average(m.area[lvBusyGPU]) }

// InstanceSeconds is the time that instances were placed, summed over them.
func (m *Meter) InstanceSeconds() float64 { return m.area[lvPlaced].float() / 1e6 }

// GPUSliceSeconds is the time that GPU slices were allocated, summed over them.
func (m *Meter) GPUSliceSeconds() float64 { return m.area[lvGPU].float() / 1e6 }

// FractionAbove is the share of times counted above t, to the sketch's accuracy; 0 if nothing was counted.
func (k *Sketch) FractionAbove(t Time) float64 {
	if k.n == 0 {
		return 0
	}
	var sum uint64
	for i := max(k.lo, bucket(uint64(min(max(t, 0), sketchTop)), k.bits)+1); i < k.hi; i++ {
		sum += k.counts[i]
	}
	return float64(sum) / float64(k.n)
}

// Merge adds o's counts. Sketches of other bits cannot be merged.
func (k *Sketch) Merge(o *Sketch) error {
	if k.bits != o.bits {
		return fmt.Errorf("sim: sketch of %d bits merged into one of %d", o.bits, k.bits)
	}
	k.merge(o)
	return nil
}

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

// KeepAlive is a function's present keep-alive.
func (s *Sim) KeepAlive(function int) Time {
	if function < 0 || function >= len(s.fns) {
		return 0
	}
	return s.fns[function].keepAlive
}

// InstanceInfo describes one instance.
type InstanceInfo struct {
	ID       InstanceID
	Function int
	State    InstanceState
	Node     int // -1 while pending or in an unlimited cluster
	Running  int // requests
	Born     Time
	Since    Time // when it last began or stopped being busy, got ready, or was born
	Sizing   Sizing
}

// Instance describes an instance; one that has ended has the State Gone.
func (s *Sim) Instance(id InstanceID) InstanceInfo {
	i, err := s.find(id)
	if err != nil {
		return InstanceInfo{ID: id, Function: none, Node: none, State: Gone}
	}
	in := &s.insts[i]
	return InstanceInfo{
		ID: id, Function: int(in.fn), State: in.state, Node: int(in.node), Running: int(in.n),
		Born: in.born, Since: in.since, Sizing: s.revs[in.rev].Sizing,
	}
}

// Cancel takes a timer back and reports whether it was pending.
func (s *Sim) Cancel(id TimerID) bool {
	i := int64(uint32(id))
	if i >= int64(len(s.timers)) || !s.timers[i].live || s.timers[i].gen != uint32(id>>32) {
		return false
	}
	s.cal.cancel(s.timers[i].h)
	s.freeTimer(int32(i))
	return true
}

// Demand is the service demand that an attempt (0 the first) of a request draws, whether or not it happens; 0 if
// the function does not exist.
func (s *Sim) Demand(function int32, id uint64, attempt int32) Time {
	if function < 0 || int(function) >= len(s.fns) {
		return 0
	}
	return s.plan.fn[function].demand.draw(s.fns[function].demandKey.With(id).With(uint64(attempt)))
}

// Cost is the price of m's window at the configuration's prices.
func (s *Sim) Cost(m *Meter) float64 { return m.Cost(s.plan.cfg.Prices) }

// spread turns the moments of n times into mean, standard deviation (of the sample itself) and maximum, in seconds.
func (t *moments) spread(n int64) (mean, sd, top float64) {
	if n == 0 {
		return 0, 0, 0
	}
	mean = t.sum.float() / float64(n)
	variance := t.square.float()/float64(n) - float64(mean*mean)
	return mean / 1e6, math.Sqrt(max(0, variance)) / 1e6, t.max.Seconds()
}

// Latency gives mean, standard deviation and maximum of completed requests' time from arrival to end; zeros if
// none completed.
func (m *Meter) Latency() (mean, sd, top float64) { return m.latency.spread(m.Completed) }

// Wait gives mean, standard deviation and maximum of started attempts' time from arrival to start.
func (m *Meter) Wait() (mean, sd, top float64) { return m.wait.spread(m.Started) }

// Sketch gives the latency histogram, the meter's own; nil if none is kept.
func (m *Meter) Sketch() *Sketch {
	if !m.sketched {
		return nil
	}
	return &m.sketch
}

// Utilisation is used over allocated CPU, 0 where none is allocated.
func (m *Meter) Utilisation() float64 {
	if all := m.AllocatedCPU(); all > 0 {
		return m.UsedCPU() / all
	}
	return 0
}

// Violations counts the requests that ended without success or late.
func (t *Tally) Violations() int64 { return t.Late + t.Rejected + t.TimedOut + t.Killed }

// N is the number of times counted.
func (k *Sketch) N() int64 { return int64(k.n) }

// find is the pool place of a living instance.
func (s *Sim) find(id InstanceID) (int32, error) {
	i := int64(uint32(id))
	if id == 0 || i >= int64(len(s.insts)) || s.insts[i].gen != uint32(id>>32) || s.insts[i].state == Gone {
		return none, fmt.Errorf("sim: instance %#x has ended or never was", uint64(id))
	}
	return int32(i), nil
}
