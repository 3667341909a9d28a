//go:build libtorch

package torch

import (
	"os"
	"runtime"
	"slices"
	"testing"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

// Operations that are not reproducible are refused with their name, and allowed again afterwards.
func TestWhatCannotBeRepeatedIsRefused(t *testing.T) {
	defer SetDeterministic(false)
	put := func() error {
		s := newScope()
		defer s.close()
		x, at, v := s.zeros(codeFloat32, onCPU, 4), s.zeros(codeInt64, onCPU, 2), s.zeros(codeFloat32, onCPU, 2)
		if s.err != nil {
			t.Fatal(s.err)
		}
		lib.AtgPut_(s.out(), x, at, v, 0) // two values for one place: which one stays is not defined
		s.drop("put_", x, at, v)
		return s.err
	}
	SetDeterministic(true)
	if !Deterministic() {
		t.Error("not deterministic after SetDeterministic(true)")
	}
	wants(t, put(), "libtorch's put_ of [4], [2], [2]", "deterministic")
	SetDeterministic(false)
	if err := put(); err != nil {
		t.Errorf("put_ is refused although nobody asked for that: %v", err)
	}
}

// A whole update on the CPU uses no operation that SetDeterministic refuses.
func TestTheUpdateIsDeterministic(t *testing.T) {
	defer SetDeterministic(false)
	SetDeterministic(true)
	e := newEngine(t, nets.Float32)
	u := newToy(t, e, 3, 8)
	u.advance()
	u.run()
	ok(t, e)
	for name, c := range lossCases() {
		var args []nets.Tensor
		for i, v := range c.args {
			args = append(args, made(e, v, c.shapes[i]...))
		}
		e.Loss(c.loss, e.NewTensor(lossAgents), e.NewTensor(c.shapes[0]...), args...)
		if err := e.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeterministicByDevice(t *testing.T) {
	defer SetDeterministic(false)
	t.Setenv(workspaceVar, ":8:8")
	e, err := New(Options{Deterministic: true})
	if err != nil || Deterministic() {
		t.Fatalf("on the CPU: %v, changed: %v", err, Deterministic())
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	_, err = New(Options{Device: "cuda:0", Deterministic: true})
	wants(t, err, `CUBLAS_WORKSPACE_CONFIG is ":8:8", want :4096:8 or :16:8`)
	for _, v := range []string{":16:8", ""} {
		t.Setenv(workspaceVar, v)
		if err := determined(0); err != nil || !Deterministic() {
			t.Errorf("%q: %v", v, err)
		}
		SetDeterministic(false)
	}
	if v := os.Getenv(workspaceVar); v != ":4096:8" {
		t.Errorf("%s is %q, want :4096:8", workspaceVar, v)
	}
}

// SetThreads also holds on system threads that computed with another number before.
func TestThreadsHoldEverywhere(t *testing.T) {
	before := Threads()
	defer func() {
		if err := SetThreads(before); err != nil {
			t.Error(err)
		}
	}()
	locked := make(chan func() int)
	seen := make(chan int)
	go func() {
		runtime.LockOSThread() // the goroutine keeps its system thread, which ends with it
		for f := range locked {
			seen <- f()
		}
	}()
	defer close(locked)
	for _, n := range []int{1, 2, 1} {
		must.Do(t, SetThreads(n))
		locked <- func() int { enter(false); return threadsHere() }
		if got := <-seen; got != n {
			t.Errorf("another thread computes on %d threads, want %d", got, n)
		}
	}
}

// A backward pass adds gradients in one order, whichever system threads the passes before it ran on.
func TestGradientsOnManyThreads(t *testing.T) {
	e := newEngine(t, nets.Float32)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range []string{"kinds, all off", "wide 80"} {
		run := func(elsewhere func(call int, f func())) []float64 {
			x := newGraphSubject(t, e, name, 1)
			x.Forward()
			x.Backward() // passes that follow build graphs as they go
			elsewhere(0, func() { x.Net.Forward(x.Work, x.Batch, x.Drop) })
			for h, in := range x.In {
				elsewhere(h+1, func() { x.Net.Head(x.Work, h, in.Given, in.Extra) })
			}
			return x.Backward()
		}
		here := run(func(_ int, f func()) { f() })
		for mask := range 16 {
			there := run(func(call int, f func()) {
				if mask>>call&1 == 0 {
					f()
					return
				}
				done := make(chan bool)
				go func() {
					runtime.LockOSThread() // it ends with this goroutine: the next one counts operations from 0
					f()
					close(done)
				}()
				<-done
			})
			ok(t, e)
			if !slices.Equal(here, there) {
				t.Errorf("%s, %04b: gradients depend on the threads of the passes before", name, mask)
			}
		}
	}
}
