package sim

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

const ms = Millisecond

// fixed is a function whose every time is fixed: demand 100 ms, cold start 50 ms.
func fixed(f Function) Function {
	f.Demand, f.ColdStart = Law{Mean: 0.1}, Law{Mean: 0.05}
	if f.Sizing.Speed == 0 {
		f.Sizing.Speed = 1
	}
	f.Sizing.Concurrency = max(f.Sizing.Concurrency, 1)
	return f
}

func one(t *testing.T, f Function, nodes ...Node) *Sim {
	t.Helper()
	return mustNew(t, Config{Functions: []Function{fixed(f)}, Nodes: nodes}, 1)
}

// ask submits requests at the given moments, numbered from first.
func ask(t *testing.T, s *Sim, first uint64, at ...Time) {
	t.Helper()
	for i, a := range at {
		must.Do(t, s.Submit(Request{ID: first + uint64(i), At: a}))
	}
}

// ends runs until the moment and checks who ended when and how.
func ends(t *testing.T, s *Sim, until Time, want ...ended) {
	t.Helper()
	var got log
	s.Run(&got, until)
	if !slices.Equal(got, want) {
		t.Errorf("until %d ended\n%+v, want\n%+v", until, got, want)
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

func counts(t *testing.T, s *Sim, want Counts) {
	t.Helper()
	if got := s.Counts(0); got != want {
		t.Errorf("at %d the function has %+v, want %+v", s.Now(), got, want)
	}
}

// Two requests share one instance that starts cold and expires: every meter by hand.
func TestMetersByHand(t *testing.T) {
	s := one(t, Function{
		Sizing:   Sizing{CPU: 1000, Memory: 500, GPU: 2, Concurrency: 2, Contention: Contention{Alpha: 1}, Max: 1},
		BindCold: true, KeepAlive: 300 * ms, SLO: 160 * ms, RequestCPU: 800, IdleMemory: 64, RequestMemory: 10,
	})
	// 0 starts at 50, alone; from 100 both at half speed; 0 ends at 200, 1 at 250; the instance expires at 550.
	ask(t, s, 0, 0, 100*ms)
	ends(t, s, Second, ended{0, 50 * ms, 200 * ms, Completed}, ended{1, 100 * ms, 250 * ms, Completed})
	counts(t, s, Counts{})
	var m Meter
	s.Meter(0, &m)
	if want := (Tally{Arrived: 2, Started: 2, Waited: 1, Cold: 1, Completed: 2, Late: 1, ColdStarts: 1,
		Expired: 1}); m.Tally != want {
		t.Errorf("counted %+v, want %+v", m.Tally, want)
	}
	mean, sd, top := m.Latency()
	wait, _, longest := m.Wait()
	cost := m.Cost(Prices{VCPUHour: 3600, GBHour: 7200, GPUSliceHour: 36, Request: 0.5})
	busy := m.Cost(Prices{VCPUHour: 3600, GBHour: 7200, GPUSliceHour: 36, BusyOnly: true})
	for what, x := range map[string][2]float64{
		"mean latency": {mean, 0.175}, "latency sd": {sd, 0.025}, "latency max": {top, 0.2},
		"mean wait": {wait, 0.025}, "longest wait": {longest, 0.05},
		"queued": {m.Queued(), 0.05}, "running": {m.Running(), 0.3}, "in system": {m.InSystem(), 0.35},
		"instances": {m.Instances(), 0.55}, "starting": {m.StartingInstances(), 0.05}, "busy": {m.BusyInstances(), 0.2},
		"cpu": {m.AllocatedCPU(), 550}, "used cpu": {m.UsedCPU(), 40 + 100 + 40}, "throttled": {m.ThrottledCPU(), 60},
		"utilisation": {m.Utilisation(), 180.0 / 550}, "memory": {m.AllocatedMemory(), 275},
		"used memory": {m.UsedMemory(), 64*0.5 + 10*0.3}, "gpu": {m.AllocatedGPU(), 1.1}, "busy gpu": {m.BusyGPU(), 0.4},
		"instance seconds": {m.InstanceSeconds(), 0.55}, "slice seconds": {m.GPUSliceSeconds(), 1.1},
		"throughput": {m.Throughput(), 2}, "median": {m.Quantile(0.5), 0.15}, "p100": {m.Quantile(1), 0.2},
		"cost": {cost, 0.55 + 2*0.275 + 0.011 + 1}, "busy cost": {busy, 0.2 + 2*0.1 + 0.004}, "seconds": {m.Seconds(), 1},
	} {
		tolerance := 1e-12
		if what == "median" || what == "p100" {
			tolerance = x[1] / 128
		}
		if math.Abs(x[0]-x[1]) > tolerance {
			t.Errorf("%s is %v, want %v", what, x[0], x[1])
		}
	}
	// A window without anything, then both joined.
	s.ResetMeters()
	s.Run(nil, 3*Second)
	var n Meter
	s.Total(&n)
	if n.From != Second || n.Tally != (Tally{}) || n.Instances() != 0 || n.Quantile(0.5) != 0 {
		t.Errorf("an empty window reads %+v", n)
	}
	m.Extend(&n)
	if m.Seconds() != 3 || math.Abs(m.Instances()-0.55/3) > 1e-12 || m.To != 3*Second {
		t.Errorf("joined windows read %v s, %v instances", m.Seconds(), m.Instances())
	}
	n.CopyFrom(&m)
	n.Add(&m)
	if n.Completed != 4 || math.Abs(n.Instances()-2*0.55/3) > 1e-12 || n.Sketch().N() != 4 || m.Sketch().N() != 2 {
		t.Errorf("added meters read %+v", n)
	}
}

// A pooled cold start: requests that wait take whichever slot falls free first; instances start for what waits.
func TestScaleFromZero(t *testing.T) {
	s := one(t, Function{Sizing: Sizing{Concurrency: 2, Max: 3}, Queue: 4, KeepAlive: 20 * ms})
	ask(t, s, 0, 0, 0, 0, 0, 0)
	ends(t, s, 1, ended{4, -1, 0, Rejected})
	counts(t, s, Counts{Starting: 2, Queued: 4}) // two slots each
	ends(t, s, 151*ms, ended{0, 50 * ms, 150 * ms, Completed}, ended{2, 50 * ms, 150 * ms, Completed},
		ended{1, 50 * ms, 150 * ms, Completed}, ended{3, 50 * ms, 150 * ms, Completed})
	ends(t, s, 171*ms)
	counts(t, s, Counts{})
	if _, ok := s.Next(); ok {
		t.Error("something is left to happen")
	}
}

func TestTimeouts(t *testing.T) {
	s := one(t, Function{Warm: true, Sizing: Sizing{Min: 1, Max: 1}, Queue: 9, QueueTimeout: 30 * ms, Timeout: 150 * ms})
	ask(t, s, 0, 0, 10*ms, 80*ms, 175*ms) // 0 runs to 100, 1 gives up at 40, 2 runs from 100 to 200, 3 from 200
	must.Do(t, s.Submit(Request{ID: 9, At: 205 * ms, Demand: Second}))
	ends(t, s, Second, ended{1, -1, 40 * ms, TimedOut}, ended{0, 0, 100 * ms, Completed},
		ended{2, 100 * ms, 200 * ms, Completed},
		ended{9, -1, 235 * ms, TimedOut}, ended{3, 200 * ms, 300 * ms, Completed})
	must.Do(t, s.Submit(Request{ID: 10, At: Second, Demand: Second}))
	ends(t, s, 2*Second, ended{10, Second, Second + 150*ms, TimedOut})
	counts(t, s, Counts{Idle: 1})
}

func TestDispatch(t *testing.T) {
	pool := Sizing{Concurrency: 2, Min: 3, Max: 3, Contention: Contention{}}
	running := func(s *Sim) (n []int) {
		for id := s.NextInstance(0, 0); id != 0; id = s.NextInstance(0, id) {
			n = append(n, s.Instance(id).Running)
		}
		slices.Sort(n)
		return n
	}
	for d, want := range map[Dispatch][]int{LeastLoaded: {1, 1, 1}, RoundRobin: {1, 1, 1}, Blind: {1, 1, 1},
		Packed: {0, 1, 2}} {
		s := one(t, Function{Warm: true, Sizing: pool, Dispatch: d, Queue: 5})
		ask(t, s, 0, 0, 0, 0)
		s.Run(nil, 1)
		if got := running(s); !slices.Equal(got, want) {
			t.Errorf("dispatch %d spreads three requests as %v, want %v", d, got, want)
		}
	}
	// Blind rejects where the next in turn is full, though another has room; nothing waits.
	s := one(t, Function{Warm: true, Sizing: Sizing{Min: 2, Max: 2}, Dispatch: Blind, Queue: 5})
	must.Do(t, s.Submit(Request{ID: 0, Demand: Second}))
	ask(t, s, 1, 1, 200*ms, 300*ms)
	ends(t, s, 2*Second, ended{1, 1, 100*ms + 1, Completed}, ended{2, -1, 200 * ms, Rejected},
		ended{3, 300 * ms, 400 * ms, Completed},
		ended{0, 0, Second, Completed})
	// Random's choices are uniform: 3,000 requests, one at a time, over three instances, within five standard
	// deviations.
	s = one(t, Function{Warm: true, Sizing: Sizing{Min: 3, Max: 3}, Dispatch: Random})
	seen := map[InstanceID]int{}
	p := &poisson{t: t, done: func(r Response) { seen[r.Instance]++ }}
	for i := range Time(3000) {
		ask(t, s, uint64(i), i*Second)
	}
	s.Run(p, Forever)
	for id, n := range seen {
		if math.Abs(float64(n)-1000) > 5*math.Sqrt(3000*2.0/9) || len(seen) != 3 {
			t.Errorf("instance %#x served %d of 3000", id, n)
		}
	}
}

// Submissions, timers and Pause inside callbacks; what they cause at the same moment comes after what was due.
type chain struct {
	t   *testing.T
	log []string
}

func (c *chain) Finished(s *Sim, r Response) {
	c.log = append(c.log, r.Outcome.String())
	if r.ID < 2 {
		ask(c.t, s, r.ID+1, s.Now())
	}
	if r.ID == 1 {
		s.Pause()
	}
}

func (c *chain) Fired(_ *Sim, t Timer) { c.log = append(c.log, "timer") }

func TestCallbacks(t *testing.T) {
	s := one(t, Function{Warm: true, Sizing: Sizing{Min: 1, Max: 1}})
	ask(t, s, 0, 0)
	must.Get(s.At(Timer{At: 200 * ms}))(t)
	c := &chain{t: t}
	if !s.Run(c, Second) || s.Now() != 200*ms {
		t.Fatalf("paused at %d", s.Now())
	}
	if s.Run(c, Second) || s.Now() != Second {
		t.Fatalf("ran until %d", s.Now())
	}
	// The timer was set before request 1 began, so at 200 ms it comes first.
	if got := strings.Join(c.log, " "); got != "completed timer completed completed" {
		t.Errorf("heard %s", got)
	}
	if err := s.Submit(Request{At: 0}); err == nil || !strings.Contains(err.Error(), "At is 0") {
		t.Errorf("a request in the past gives %v", err)
	}
	for _, r := range []Request{{Function: 1, At: Second}, {Function: -1, At: Second}, {At: Forever},
		{At: Second, Demand: -1}, {At: Second, SLO: -1}} {
		if s.Submit(r) == nil {
			t.Errorf("%+v was accepted", r)
		}
	}
	if _, err := s.At(Timer{At: 5}); err == nil {
		t.Error("a timer in the past was accepted")
	}
	id, err := s.At(Timer{At: 2 * Second})
	if err != nil || !s.Cancel(id) || s.Cancel(id) || s.Cancel(77<<32) || s.Cancel(1<<20) {
		t.Errorf("a timer is not cancelled exactly once (%v)", err)
	}
}
