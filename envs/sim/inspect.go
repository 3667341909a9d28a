package sim

// Counts is a function's present state.
type Counts struct {
	Pending, Starting, Idle, Busy, Draining int // instances
	Queued                                  int // requests waiting, those bound to a starting instance included
	Running                                 int // requests
}

// Counts returns a function's present state; one that does not exist has nothing.
func (s *Sim) Counts(function int) Counts {
	if function < 0 || function >= len(s.fns) {
		return Counts{}
	}
	f := &s.fns[function]
	return Counts{
		Pending: int(f.nPending), Starting: int(f.nStarting), Idle: int(f.nIdle), Busy: int(f.nBusy),
		Draining: int(f.nDraining),
		Queued:   int(f.gauge.now[lvWaiting]), Running: int(f.gauge.now[lvRunning]),
	}
}

// Sizing is a function's present sizing; one that does not exist has the zero Sizing.
func (s *Sim) Sizing(function int) Sizing {
	if function < 0 || function >= len(s.fns) {
		return Sizing{}
	}
	return s.revs[s.fns[function].revision].Sizing
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
