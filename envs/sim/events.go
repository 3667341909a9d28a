package sim

import (
	"fmt"
)

// Request is what a caller submits.
type Request struct {
	Function int32
	// ID names the request among its function's: its demand is drawn from (seed, Function, ID, attempt),
	// whatever else happens. The caller gives each request its own.
	ID  uint64
	Tag uint64 // the caller's; comes back in the Response
	At  Time   // arrival; not before Now
	// Demand replaces the drawn service demand when positive.
	Demand Time
	// SLO replaces the function's when positive.
	SLO Time
}

// Outcome says how a request ended.
type Outcome uint8

const (
	// Completed is served.
	Completed Outcome = iota
	// Rejected is turned away: no room on arrival, or the instance a Blind or Random function picked was full.
	Rejected
	// TimedOut is given up: waited or ran longer than allowed.
	TimedOut
	// Killed is ended with its instance by Redeploy or Kill, or while waiting by Flush.
	Killed
	outcomes
)

var outcomeNames = [outcomes]string{"completed", "rejected", "timed out", "killed"}

func (o Outcome) String() string {
	if o < outcomes {
		return outcomeNames[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Response reports a request's end.
type Response struct {
	Function int32
	Outcome  Outcome
	Cold     bool  // waited for a cold start that it caused (BindCold) or that served it first
	Late     bool  // completed after its SLO
	Attempt  int32 // 0, or how often the request was put back by Redeploy or Kill
	ID, Tag  uint64
	Arrived  Time
	Started  Time // when an attempt last began to run; -1 if none did
	Ended    Time
	Demand   Time       // of the last attempt that began to run; 0 if none did
	Instance InstanceID // that ran that attempt; 0 if none
	Node     int32      // that carried it; -1 if none
}

// Latency is the time from arrival to end.
func (r *Response) Latency() Time { return r.Ended - r.Arrived }

// Timer is a caller's scheduled event.
type Timer struct {
	At      Time
	Kind    int32  // the caller's
	Payload uint64 // the caller's
}

// TimerID names a pending timer.
type TimerID uint64

// InstanceID names an instance. 0 names none; an ID is never used twice.
type InstanceID uint64

// Handler is told what happens. Its methods run inside the event loop at the simulation's present moment and may submit
// requests, set and cancel timers, resize, and pause; events that the methods cause at the same moment happen after the
// events already due. The handler is not part of the simulation's state.
type Handler interface {
	// Finished is called once for each request submitted.
	Finished(s *Sim, r Response)
	// Fired is called for each timer that was not cancelled.
	Fired(s *Sim, t Timer)
}

// InstanceState is where an instance is in its life.
type InstanceState uint8

const (
	// Gone says that there is no such instance (expired, retired or killed).
	Gone InstanceState = iota
	// Pending is where no node has room yet.
	Pending
	// Starting is placed and cold.
	Starting
	// Idle is ready and empty.
	Idle
	// Busy is ready and running at least one request.
	Busy
	// Draining is finishing what it runs, taking nothing new.
	Draining
	instanceStates
)

var stateNames = [instanceStates]string{"gone", "pending", "starting", "idle", "busy", "draining"}

func (s InstanceState) String() string {
	if s < instanceStates {
		return stateNames[s]
	}
	return fmt.Sprintf("InstanceState(%d)", uint8(s))
}

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

// At schedules a call of Handler.Fired at t.At, which is now or later.
func (s *Sim) At(t Timer) (TimerID, error) {
	if t.At < s.cal.now || t.At >= maxClock {
		return 0, fmt.Errorf("sim: timer of kind %d: At is %d µs, want now (%d) or later, below %d", t.Kind, t.At, s.cal.now,
			maxClock)
	}
	i := s.freeTim
	if i != none {
		s.freeTim = s.timers[i].next
	} else {
		if len(s.timers) >= maxPool {
			return 0, fmt.Errorf("sim: timer of kind %d: %d timers are pending already, their limit", t.Kind, maxPool)
		}
		i = int32(len(s.timers))
		s.timers = append(s.timers, timer{h: s.cal.handle(evTimer, i)})
	}
	m := &s.timers[i]
	m.Timer, m.live, m.next = t, true, none
	m.gen++
	s.cal.schedule(m.h, t.At)
	return TimerID(m.gen)<<32 | TimerID(uint32(i)), nil
}

func (s *Sim) freeTimer(i int32) {
	s.timers[i].live = false
	s.timers[i].next = s.freeTim
	s.freeTim = i
}

func (s *Sim) fire(i int32) {
	t := s.timers[i].Timer
	s.freeTimer(i)
	s.handler.Fired(s, t)
}
