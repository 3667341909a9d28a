package sim

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func ok(t *testing.T, err error) {
	t.Helper()
	must.Do(t, err)
}

func fails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want it to say %q", err, want)
	}
}

var pair = Sizing{CPU: 1000, Concurrency: 1, Speed: 1, Min: 2, Max: 2}

// A rolling resize: the old serve until the new are ready; what runs finishes on its old instance at its old speed.
func TestResize(t *testing.T) {
	s := one(t, Function{Warm: true, Sizing: pair, Queue: 9})
	ask(t, s, 0, 0, 30*ms)
	s.Run(nil, 10*ms)
	fast := pair
	fast.Speed, fast.CPU = 2, 2000
	ok(t, s.Resize(0, fast))
	counts(t, s, Counts{Starting: 2, Idle: 1, Busy: 1, Running: 1})
	// 1 runs on an old instance too; at 60 the new ones are ready and both old ones drain; 2 and 3 run at double speed.
	ask(t, s, 2, 60*ms, 60*ms)
	ends(t, s, 61*ms)
	counts(t, s, Counts{Draining: 2, Busy: 2, Running: 4})
	ends(t, s, Second, ended{0, 0, 100 * ms, Completed}, ended{2, 60 * ms, 110 * ms, Completed},
		ended{3, 60 * ms, 110 * ms, Completed},
		ended{1, 30 * ms, 130 * ms, Completed})
	counts(t, s, Counts{Idle: 2})
	if s.Sizing(0) != fast {
		t.Errorf("the sizing is %+v", s.Sizing(0))
	}
	// Only the limits: idle instances go at once, a busy one drains.
	ask(t, s, 4, Second, Second)
	s.Run(nil, Second+1)
	fast.Min, fast.Max = 0, 1
	ok(t, s.Resize(0, fast))
	counts(t, s, Counts{Busy: 1, Draining: 1, Running: 2})
	fails(t, s.Resize(1, fast), "function is 1, want 0 to 0")
	fast.Speed = -1
	fails(t, s.Resize(0, fast), "Sizing.Speed is -1")
}

// Where a new instance finds no room beside the old ones, these leave first.
func TestResizeWithoutRoom(t *testing.T) {
	s := one(t, Function{Warm: true, Sizing: pair, Queue: 9}, Node{CPU: 2500})
	ask(t, s, 0, 0)
	s.Run(nil, 10*ms)
	large := pair
	large.CPU = 1200
	ok(t, s.Resize(0, large))
	counts(t, s, Counts{Pending: 1, Starting: 1, Draining: 1, Running: 1})
	ends(t, s, 100*ms+1, ended{0, 0, 100 * ms, Completed})
	counts(t, s, Counts{Starting: 1, Idle: 1})
	if got := s.NodeFree(0); got != (Node{CPU: 100}) {
		t.Errorf("the node has %+v left", got)
	}
}

func TestRedeploy(t *testing.T) {
	for _, requeue := range []bool{false, true} {
		s := one(t, Function{Warm: true, Sizing: pair, Queue: 9})
		ask(t, s, 0, 0, 1*ms, 2*ms)
		s.Run(nil, 20*ms)
		ok(t, s.Redeploy(0, pair, requeue))
		must.Do(t, s.check())
		// Killed are 1 and 0, by their instances' age; 2 was waiting and goes on. Put back, 0 and 1 stand before 2
		// and begin again at 70.
		if requeue {
			ends(t, s, Second, ended{0, 70 * ms, 170 * ms, Completed}, ended{1, 70 * ms, 170 * ms, Completed},
				ended{2, 170 * ms, 270 * ms, Completed})
		} else {
			ends(t, s, Second, ended{1, 1 * ms, 20 * ms, Killed}, ended{0, 0, 20 * ms, Killed},
				ended{2, 70 * ms, 170 * ms, Completed})
		}
		var m Meter
		s.Total(&m)
		if m.ColdStarts != 2 {
			t.Errorf("%d cold starts, want 2", m.ColdStarts)
		}
	}
	// Flush ends what waits.
	s := one(t, Function{Warm: true, Sizing: pair, Queue: 9})
	ask(t, s, 0, 0, 0, 0)
	s.Run(nil, 5)
	ok(t, s.Flush(0))
	ends(t, s, Second, ended{2, -1, 5, Killed}, ended{0, 0, 100 * ms, Completed}, ended{1, 0, 100 * ms, Completed})
}

// A vertical resize changes the speed of what runs from that moment on, exactly.
func TestAdjust(t *testing.T) {
	z := Sizing{CPU: 1000, Concurrency: 2, Speed: 1, Contention: Contention{Alpha: 1}, Min: 1, Max: 1}
	s := one(t, Function{Warm: true, Sizing: z, Queue: 9}, Node{CPU: 1500})
	ask(t, s, 0, 0, 0, 0)
	s.Run(nil, 40*ms)
	z.Speed, z.CPU = 4, 1500
	// Each of two has attained 20 of 100 ms; now each gains 2 ms a ms: done at 80. The third runs alone, four times
	// as fast.
	ok(t, s.Adjust(0, z))
	ends(t, s, Second, ended{0, 0, 80 * ms, Completed}, ended{1, 0, 80 * ms, Completed},
		ended{2, 80 * ms, 105 * ms, Completed})
	// More concurrency lets waiting requests in at once; too much CPU changes nothing.
	ask(t, s, 3, Second, Second, Second)
	s.Run(nil, Second+1)
	z.Concurrency = 3
	ok(t, s.Adjust(0, z))
	counts(t, s, Counts{Busy: 1, Running: 3})
	before := s.Sizing(0)
	z.CPU = 1501
	fails(t, s.Adjust(0, z), "function 0: node 0 has {CPU:0 Memory:0 GPU:0} left")
	if s.Sizing(0) != before || s.NodeFree(0).CPU != 0 {
		t.Errorf("a refused adjustment left %+v and %+v free", s.Sizing(0), s.NodeFree(0))
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// Instances that fit nowhere wait for room, and take it in the order in which their functions began to wait.
func TestPending(t *testing.T) {
	z := Sizing{CPU: 600, Memory: 100, GPU: 1, Concurrency: 1, Speed: 1, Min: 1, Max: 1}
	f := fixed(Function{Warm: true, Sizing: z, Queue: 9})
	s := mustNew(t, Config{Functions: []Function{f, f, f}, Nodes: []Node{{CPU: 1000, Memory: 100, GPU: 2}}}, 1)
	for i, want := range []Counts{{Idle: 1}, {Pending: 1}, {Pending: 1}} {
		if got := s.Counts(i); got != want {
			t.Errorf("function %d has %+v, want %+v", i, got, want)
		}
	}
	z.Min, z.Max = 0, 0
	ok(t, s.Resize(0, z))
	if s.Counts(1).Starting != 1 || s.Counts(2).Pending != 1 {
		t.Errorf("the room went to %+v and %+v", s.Counts(1), s.Counts(2))
	}
	s.Run(nil, Second)
	m := s.NodeMeter(0)
	if m != (NodeMeter{Seconds: 1, CPU: 600, Memory: 100, GPU: 1, Instances: 1}) {
		t.Errorf("the node's meter reads %+v", m)
	}
}

func TestLaunchRetireKill(t *testing.T) {
	z := Sizing{CPU: 600, Concurrency: 1, Speed: 1, Max: 2}
	s := one(t, Function{Sizing: z, Queue: 9}, Node{CPU: 1000}, Node{CPU: 700})
	a, err := s.Launch(0, 1)
	ok(t, err)
	if in := s.Instance(a); in.Node != 1 || in.State != Starting || in.Sizing != z {
		t.Errorf("launched %+v", in)
	}
	_, err = s.Launch(0, 1)
	fails(t, err, "node 1 has {CPU:100 Memory:0 GPU:0} left")
	_, err = s.Launch(0, 2)
	fails(t, err, "node is 2")
	b, err := s.Launch(0, AnyNode)
	ok(t, err)
	_, err = s.Launch(0, AnyNode)
	fails(t, err, "its Max is 2")
	s.Run(nil, 50*ms+1)
	ask(t, s, 0, s.Now(), s.Now())
	s.Run(nil, 60*ms)
	ok(t, s.Retire(a))
	ok(t, s.Kill(b, false))
	counts(t, s, Counts{Draining: 1, Running: 1})
	fails(t, s.Retire(b), "has ended")
	if in := s.Instance(b); in.State != Gone || s.NextInstance(0, b) != 0 {
		t.Errorf("a killed instance is %+v", in)
	}
	start := 50*ms + 1
	ends(t, s, Second, ended{0, start, 60 * ms, Killed}, ended{1, start, start + 100*ms, Completed})
}

func TestKeepAlive(t *testing.T) {
	s := one(t, Function{Warm: true, Sizing: Sizing{Min: 1, Max: 3}, Queue: 9, KeepAlive: Minute})
	ask(t, s, 0, 0, 0, 0)
	s.Run(nil, Second)
	counts(t, s, Counts{Idle: 3}) // two were started for what waited
	ok(t, s.SetKeepAlive(0, 2*Second))
	s.Run(nil, 3*Second)
	counts(t, s, Counts{Idle: 1})
	fails(t, s.SetKeepAlive(0, -1), "keep-alive is -1")
	if s.KeepAlive(0) != 2*Second {
		t.Errorf("keep-alive is %d", s.KeepAlive(0))
	}
}
