package sim

import (
	"errors"
	"fmt"
	"math"
)

// Time is a moment or a duration in integer microseconds. A simulation starts at 0.
type Time int64

// Units and limits of Time.
const (
	Microsecond Time = 1
	Millisecond Time = 1000
	Second      Time = 1000 * 1000
	Minute      Time = 60 * Second
	Hour        Time = 60 * Minute

	// Forever is later than every event: Run(h, Forever) runs until nothing is left to happen.
	Forever Time = math.MaxInt64

	// MaxSpan bounds one demand, delay or timeout (about 76 hours), so that sums of them cannot overflow.
	MaxSpan Time = 1 << 38
	// maxClock ends time, after some 36,000 years: nothing happens then or later.
	maxClock Time = 1 << 60
)

// Seconds converts seconds to Time, rounded to the nearest microsecond and held inside ±MaxSpan; NaN gives 0.
func Seconds(s float64) Time {
	us := s * 1e6
	switch {
	case math.IsNaN(us):
		return 0
	case us >= float64(MaxSpan):
		return MaxSpan
	case us <= -float64(MaxSpan):
		return -MaxSpan
	}
	return Time(math.Round(us))
}

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e6 }

// NoLimit is the capacity of an unlimited queue and the Max of a function that may have any number of instances.
const NoLimit = math.MaxInt32

// Config describes a simulation. It is fixed for the life of a Sim; what may change while running is Sizing.
type Config struct {
	Functions []Function // at least one
	// Nodes carry the instances. Without nodes the cluster is unlimited and placement costs nothing.
	Nodes     []Node
	Placement Placement
	// StartRate bounds the instance starts of all functions together, per second: the platform starts one instance after
	// another, each takes it 1/StartRate, and then the instance's own cold start begins. So n starts at once are done
	// n/StartRate and a cold start later: the stairs of StepConf's Fig. 2. A start that is taken back has used its turn.
	// Instances that are Warm at time 0 take none. 0: no bound; else 1e-3 to 1e6.
	StartRate float64
	Prices    Prices
	// SketchBits sets the relative error of latency quantiles, 2^-(SketchBits+1), and the memory they take,
	// about 8·35·2^SketchBits bytes a function. 1 to 10; 0 takes the default 6 (0.8 %); NoSketch keeps none.
	SketchBits int
}

// NoSketch is the Config.SketchBits that keeps no latency quantiles (means and counts stay).
const NoSketch = -1

// Function describes one function.
type Function struct {
	Name string // for error messages
	// Demand is the service demand of a request: the time it takes alone in an instance of Speed 1.
	Demand Law
	// ColdStart is the delay between an instance's placement and its readiness.
	ColdStart Law
	// Sizing is the function's first deployment.
	Sizing Sizing
	// Warm has the first Sizing.Min instances stand ready at time 0 instead of starting cold.
	Warm bool

	Dispatch Dispatch
	// Queue is the number of requests that may wait (not counting those in service); a request beyond it is
	// rejected. 0 is a pure loss system, NoLimit an unlimited queue.
	Queue int32
	// MaxInflight rejects a request that finds so many in the system, waiting or running. 0: no such limit.
	MaxInflight int32
	// BindCold ties a request that finds no free slot to an instance that it starts, as AWS Lambda and SimFaaS do.
	// Otherwise, and where no node has room, it waits at the queue's end and takes the first slot that falls free.
	BindCold bool

	// QueueTimeout ends a request that has waited so long without starting. 0: never.
	QueueTimeout Time
	// Timeout ends a request so long after its arrival, running or not. 0: never.
	Timeout Time
	// KeepAlive is the idle time after which an instance above Sizing.Min expires. 0: never.
	KeepAlive Time
	// SLO is the latency above which a completed request counts as late, unless the request brings its own.
	// 0: none.
	SLO Time

	// RequestCPU is what one running request would use if it could (millicores); the meters' used and
	// throttled CPU rest on it: in an instance with n running, min(n·RequestCPU, CPU) is used and the rest of
	// n·RequestCPU is throttled. It does not change speed: Sizing.Speed and Contention do.
	RequestCPU int32
	// IdleMemory and RequestMemory (MB) give the memory in use: each ready instance holds IdleMemory, each
	// running request RequestMemory more.
	IdleMemory, RequestMemory int32
}

// Sizing is what a deployment decides and a resize changes.
type Sizing struct {
	CPU    int32 // millicores an instance
	Memory int32 // MB an instance
	GPU    int32 // GPU slices (vGPU shares) an instance; a node's slices count as one pool
	// Concurrency is how many requests one instance runs at once: at least 1, at most MaxConcurrency.
	Concurrency int32
	// Speed divides demands: a request of demand d alone in an instance takes d/Speed. Positive, at most 1e6.
	Speed      float64
	Contention Contention
	// Min instances are kept always; further ones start on demand up to Max. Min = Max is a fixed pool, Min = 0
	// scales from zero, Max = 0 runs nothing.
	Min, Max int32
}

const (
	// MaxConcurrency bounds Sizing.Concurrency.
	MaxConcurrency = 1 << 16
	// MaxReplicas bounds Sizing.Min, since those start at once.
	MaxReplicas = 1 << 20
)

// Contention says how requests in one instance slow each other. With n running, each progresses at
//
//	Speed / (max(1, n/Cores) · (1 + Alpha·(n-1)))
//
// Cores = 1 or Alpha = 1 (the other off) is processor sharing; both zero is none.
type Contention struct {
	Cores float64 // how many requests run side by side at full rate; 0: any number
	Alpha float64 // slowdown that each further request adds, 0 or more
}

// Dispatch chooses among instances that have a free slot.
type Dispatch uint8

const (
	// LeastLoaded takes the instance with fewest running, the most recently used of several.
	LeastLoaded Dispatch = iota
	// Packed takes the fullest instance with a free slot, the most recently used of several, so that others fall
	// idle and expire.
	Packed
	// RoundRobin goes round the instances that have a free slot.
	RoundRobin
	// Blind goes round all ready instances and rejects where the next one is full: a gateway that does not see inside
	// the pods, each with its own in-flight limit (OpenFaaS' max_inflight). Only while no instance is ready do
	// requests wait, in Queue, and start instances beyond Min.
	Blind
	// Random is Blind with any ready instance, equally likely, instead of the next in turn: OpenFaaS on Kubernetes,
	// which proxies each request to a random endpoint. The draw is named by the request.
	Random
	dispatches
)

// Placement chooses the node of a new instance. An instance that fits nowhere stays pending until one leaves.
type Placement uint8

const (
	// FirstFit takes the lowest-numbered node with room.
	FirstFit Placement = iota
	// BestFit takes, of the nodes with room, the one with fewest free GPU slices, then least free CPU, then
	// least free memory, then the lowest number.
	BestFit
	// SpreadFit goes round the nodes with room.
	SpreadFit
	placements
)

// Node is one machine.
type Node struct {
	CPU    int32 // millicores
	Memory int32 // MB
	GPU    int32 // slices
}

// Prices turn meters into USD. One GB is 1000 MB.
type Prices struct {
	VCPUHour     float64 // per 1000 millicores and hour
	GBHour       float64
	GPUSliceHour float64
	Request      float64 // per request that started
	// BusyOnly charges an instance's resources only while it runs something; otherwise from its placement to
	// its end, starting and idle included.
	BusyOnly bool
}

// Validate reports what is wrong with the configuration: every fault, each with its field.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sim: "+format, args...)) }
	if len(c.Functions) == 0 {
		bad("Functions is empty, want at least one")
	}
	if len(c.Functions) > maxPool/4 || len(c.Nodes) > maxPool/4 {
		bad("%d functions and %d nodes, want at most %d of each", len(c.Functions), len(c.Nodes), maxPool/4)
	}
	if c.Placement >= placements {
		bad("Placement is %d, want FirstFit (0), BestFit (1) or SpreadFit (2)", c.Placement)
	}
	if c.SketchBits != NoSketch && (c.SketchBits < 0 || c.SketchBits > maxSketchBits) {
		bad("SketchBits is %d, want 0 (the default), 1 to %d, or NoSketch", c.SketchBits, maxSketchBits)
	}
	if c.StartRate != 0 && !(c.StartRate >= 1e-3 && c.StartRate <= 1e6) {
		bad("StartRate is %v, want starts a second in [1e-3, 1e6], or 0 for no bound", c.StartRate)
	}
	for i, n := range c.Nodes {
		if n.CPU < 0 || n.Memory < 0 || n.GPU < 0 {
			bad("Nodes[%d] is %+v, want no negative resource", i, n)
		}
	}
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"VCPUHour", c.Prices.VCPUHour}, {"GBHour", c.Prices.GBHour},
		{"GPUSliceHour", c.Prices.GPUSliceHour}, {"Request", c.Prices.Request},
	} {
		if !(p.value >= 0 && p.value <= 1e12) {
			bad("Prices.%s is %v, want USD in [0, 1e12]", p.name, p.value)
		}
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		name := fmt.Sprintf("Functions[%d]", i)
		if f.Name != "" {
			name += fmt.Sprintf(" (%s)", f.Name)
		}
		if err := f.validate(name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (f *Function) validate(name string) error {
	if err := f.Demand.validate(name + ".Demand"); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if err := f.ColdStart.validate(name + ".ColdStart"); err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	if f.Dispatch >= dispatches {
		return fmt.Errorf("sim: %s.Dispatch is %d, want LeastLoaded (0), Packed (1), RoundRobin (2), Blind (3) or Random (4)",
			name, f.Dispatch)
	}
	for _, t := range []struct {
		name  string
		value Time
	}{{"QueueTimeout", f.QueueTimeout}, {"Timeout", f.Timeout}, {"KeepAlive", f.KeepAlive}, {"SLO", f.SLO}} {
		if t.value < 0 || t.value > MaxSpan {
			return fmt.Errorf("sim: %s.%s is %d µs, want 0 to %d", name, t.name, t.value, MaxSpan)
		}
	}
	for _, n := range []struct {
		name  string
		value int32
	}{
		{"Queue", f.Queue}, {"MaxInflight", f.MaxInflight}, {"RequestCPU", f.RequestCPU},
		{"IdleMemory", f.IdleMemory}, {"RequestMemory", f.RequestMemory},
	} {
		if n.value < 0 {
			return fmt.Errorf("sim: %s.%s is %d, want 0 or more", name, n.name, n.value)
		}
	}
	return f.Sizing.validate(name + ".Sizing")
}

func (z *Sizing) validate(name string) error {
	switch {
	case z.CPU < 0:
		return fmt.Errorf("sim: %s.CPU is %d, want millicores, 0 or more", name, z.CPU)
	case z.Memory < 0:
		return fmt.Errorf("sim: %s.Memory is %d, want MB, 0 or more", name, z.Memory)
	case z.GPU < 0:
		return fmt.Errorf("sim: %s.GPU is %d, want slices, 0 or more", name, z.GPU)
	case z.Concurrency < 1 || z.Concurrency > MaxConcurrency:
		return fmt.Errorf("sim: %s.Concurrency is %d, want 1 to %d", name, z.Concurrency, MaxConcurrency)
	case !(z.Speed >= 1e-6 && z.Speed <= 1e6):
		return fmt.Errorf("sim: %s.Speed is %v, want a number from 1e-6 to 1e6", name, z.Speed)
	case !(z.Contention.Cores >= 0 && z.Contention.Cores <= MaxConcurrency):
		return fmt.Errorf("sim: %s.Contention.Cores is %v, want 0 (any) to %d", name, z.Contention.Cores, MaxConcurrency)
	case !(z.Contention.Alpha >= 0 && z.Contention.Alpha <= 1e3):
		return fmt.Errorf("sim: %s.Contention.Alpha is %v, want 0 to 1000", name, z.Contention.Alpha)
	case z.Min < 0 || z.Max < z.Min:
		return fmt.Errorf("sim: %s.Min is %d and Max %d, want 0 ≤ Min ≤ Max", name, z.Min, z.Max)
	case z.Min > MaxReplicas:
		return fmt.Errorf("sim: %s.Min is %d, want at most %d", name, z.Min, MaxReplicas)
	}
	return nil
}
