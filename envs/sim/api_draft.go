package sim

// The methods whose bodies are still to come, so that callers can be written against them.

// Sim is a simulation.
type Sim struct{}

// New builds a simulation at time 0 with the first instances of every function launched. Errors name the field.
func New(cfg Config, seed uint64) (*Sim, error) { panic("draft") }

// Reset puts the simulation back to time 0 under another seed, sizings as configured. It does not allocate.
func (s *Sim) Reset(seed uint64) { panic("draft") }

// Now is the present moment.
func (s *Sim) Now() Time { panic("draft") }

// Functions is the number of functions; Nodes that of nodes.
func (s *Sim) Functions() int { panic("draft") }
func (s *Sim) Nodes() int     { panic("draft") }

// Submit schedules a request's arrival at r.At (now or later).
func (s *Sim) Submit(r Request) error { panic("draft") }

// At schedules a call of Handler.Fired; Cancel takes it back and reports whether it was pending.
func (s *Sim) At(t Timer) (TimerID, error) { panic("draft") }
func (s *Sim) Cancel(id TimerID) bool      { panic("draft") }

// Run lets everything before until happen and sets the clock to until (with Forever, to the last event): windows
// are half open, so what a caller changes at a boundary precedes what happens there. It returns true if Pause
// stopped it early, and then Now is the moment of the pause. A nil handler ignores everything.
func (s *Sim) Run(h Handler, until Time) (paused bool) { panic("draft") }

// Pause, called from a handler, makes Run return after the present event.
func (s *Sim) Pause() { panic("draft") }

// Next is the time of the next event; ok is false if nothing is left.
func (s *Sim) Next() (t Time, ok bool) { panic("draft") }

// Demand is the service demand that attempt k of a request draws.
func (s *Sim) Demand(function int32, id uint64, attempt int32) Time { panic("draft") }

// Sizing is a function's present sizing.
func (s *Sim) Sizing(function int) Sizing { panic("draft") }

// Resize changes a function's sizing gently. Where only Min and Max change, instances are launched or retired;
// otherwise new ones start beside the old, each that gets ready retires an old one (which finishes what it runs),
// and where a new one finds no room an old one leaves at once.
func (s *Sim) Resize(function int, z Sizing) error { panic("draft") }

// Redeploy is a fresh deployment: every instance ends now and as many (within z's Min and Max) start cold. What
// ran is reported Killed, or with requeue goes back to the front of the queue as a further attempt. Waiting
// requests keep waiting; Flush ends them.
func (s *Sim) Redeploy(function int, z Sizing, requeue bool) error { panic("draft") }

// Adjust changes CPU, memory, GPU slices, speed, contention and concurrency of a function's instances in place,
// running requests included (a vertical resize). It fails, changing nothing, where a node has no room.
func (s *Sim) Adjust(function int, z Sizing) error { panic("draft") }

// SetKeepAlive changes a function's keep-alive (0: never expire).
func (s *Sim) SetKeepAlive(function int, keepAlive Time) error { panic("draft") }

// Flush ends a function's waiting requests as Killed.
func (s *Sim) Flush(function int) { panic("draft") }

// Launch starts an instance on a node (AnyNode: by the placement policy, pending where none has room). It fails
// where the node has no room or Max is reached.
func (s *Sim) Launch(function, node int) (InstanceID, error) { panic("draft") }

// AnyNode leaves the node to the placement policy.
const AnyNode = -1

// Retire ends an instance when it has finished what it runs; Kill ends it now.
func (s *Sim) Retire(id InstanceID) error             { panic("draft") }
func (s *Sim) Kill(id InstanceID, requeue bool) error { panic("draft") }

// Counts is a function's present state.
type Counts struct {
	Pending, Starting, Idle, Busy, Draining int // instances
	Queued, Running                         int // requests
}

// Counts returns a function's present state.
func (s *Sim) Counts(function int) Counts { panic("draft") }

// InstanceInfo describes one instance.
type InstanceInfo struct {
	ID       InstanceID
	Function int
	State    InstanceState
	Node     int // -1 while pending or without nodes
	Running  int // requests
	Born     Time
	Since    Time // when it last began or stopped running something, or became ready
}

// Instance describes an instance; an ended one has the State Gone.
func (s *Sim) Instance(id InstanceID) InstanceInfo { panic("draft") }

// NextInstance walks a function's instances, oldest first: 0 gives the first, and it returns 0 after the last.
func (s *Sim) NextInstance(function int, after InstanceID) InstanceID { panic("draft") }

// NodeFree is what a node has left.
func (s *Sim) NodeFree(node int) Node { panic("draft") }

// Meter reads a function's meters, since the last ResetMeters until now, into m (which keeps its buffers).
// Total reads the sum over functions.
func (s *Sim) Meter(function int, m *Meter) { panic("draft") }
func (s *Sim) Total(m *Meter)               { panic("draft") }

// NodeMeter reads a node's meters.
func (s *Sim) NodeMeter(node int) NodeMeter { panic("draft") }

// NodeMeter is what a node's instances held on average.
type NodeMeter struct {
	Seconds          float64
	CPU, Memory, GPU float64 // mean allocated millicores, MB, slices
	Instances        float64 // mean number
}

// ResetMeters begins a new window for all meters.
func (s *Sim) ResetMeters() { panic("draft") }

// CopyFrom makes s a copy of o, which must come from the same Config. It does not allocate once s has held as much.
func (s *Sim) CopyFrom(o *Sim) { panic("draft") }

// AppendBinary appends the whole state to b; UnmarshalBinary restores it into a Sim of the same Config.
func (s *Sim) AppendBinary(b []byte) ([]byte, error) { panic("draft") }
func (s *Sim) UnmarshalBinary(b []byte) error        { panic("draft") }

// Meter is what was measured over a window. Times are seconds, CPU millicores, memory MB, money USD.
type Meter struct {
	From, To   Time
	Arrived    int64
	Started    int64 // attempts that began to run
	Completed  int64
	Rejected   int64
	TimedOut   int64
	Killed     int64
	Late       int64 // completed after their SLO
	Cold       int64 // completed that had waited for a cold start
	ColdStarts int64 // instances placed and started cold
	Expired    int64 // instances ended by keep-alive
}

func (m *Meter) Seconds() float64                 { panic("draft") }
func (m *Meter) Violations() int64                { panic("draft") } // Late + Rejected + TimedOut + Killed
func (m *Meter) Throughput() float64              { panic("draft") } // completed a second
func (m *Meter) Latency() (mean, sd, max float64) { panic("draft") } // of completed requests, arrival to end; 0 if none
func (m *Meter) Wait() (mean, sd, max float64)    { panic("draft") } // of started attempts, arrival to start
func (m *Meter) Waited() int64                    { panic("draft") } // started attempts that had waited at all
func (m *Meter) Quantile(q float64) float64       { panic("draft") } // latency; 0 if none
func (m *Meter) InSystem() float64                { panic("draft") } // time averages from here
func (m *Meter) Queued() float64                  { panic("draft") }
func (m *Meter) Running() float64                 { panic("draft") }
func (m *Meter) Instances() float64               { panic("draft") } // placed: starting, idle, busy, draining
func (m *Meter) BusyInstances() float64           { panic("draft") }
func (m *Meter) AllocatedCPU() float64            { panic("draft") } // millicores
func (m *Meter) UsedCPU() float64                 { panic("draft") } // millicores
func (m *Meter) ThrottledCPU() float64            { panic("draft") } // millicores wanted beyond the allocation
func (m *Meter) AllocatedMemory() float64         { panic("draft") } // MB
func (m *Meter) UsedMemory() float64              { panic("draft") } // MB
func (m *Meter) AllocatedGPU() float64            { panic("draft") } // slices
func (m *Meter) Utilisation() float64             { panic("draft") } // UsedCPU / AllocatedCPU
func (m *Meter) InstanceSeconds() float64         { panic("draft") }
func (m *Meter) GPUSliceSeconds() float64         { panic("draft") }
func (m *Meter) Cost(p Prices) float64            { panic("draft") }
func (m *Meter) Add(o *Meter)                     { panic("draft") } // merges: several functions of one window, or windows of one function
