package native_test

import (
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

func noAllocs(t *testing.T, what string, f func()) {
	t.Helper()
	f() // warm up
	if n := testing.AllocsPerRun(5, f); n != 0 {
		t.Errorf("%s: %g allocations, want none", what, n)
	}
}

// Acting on a batch of one does not allocate, nor does learning after its first step.
func TestNoAllocation(t *testing.T) { onBackends(t, checkNoAllocation) }

func checkNoAllocation(t *testing.T, o native.Options, _ float64) {
	for name, a := range archs() {
		e := native.New(o)
		for _, batch := range []int{1, 300} { // gonum would compute products of 300 rows in parallel
			x := newSubject(t, e, a, batch, 1)
			adam := must.Get(e.NewAdam(x.net, nets.Adam{Rate: 1e-3, Clip: 1}))(t)
			noAllocs(t, name+" forward", func() { x.net.Forward(x.work, x.in...) })
			noAllocs(t, name+" backward", func() { x.net.Backward(x.work, x.g, nets.Both) })
			noAllocs(t, name+" step", func() {
				x.net.ZeroGrads()
				adam.Advance()
				adam.Step()
				e.Lerp(x.net.Params(),
					x.net.Grads(), 0.1)
			})
		}
		noError(t, e)
	}
	for name, c := range netstest.Losses() {
		e := native.New(o)
		args := c.Args(e, rng.NewStream(1, name))
		value, grad := e.NewTensor(3), e.NewTensor(args[0].Shape()...)
		noAllocs(t, name, func() { e.Loss(c.Loss, value, grad, args...) })
		noError(t, e)
	}
}

// A wide product, which gonum would compute on several goroutines.
func TestNoAllocationWide(t *testing.T) { onBackends(t, checkNoAllocationWide) }

func checkNoAllocationWide(t *testing.T, o native.Options, _ float64) {
	e := native.New(o)
	x := newSubject(t, e, nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 200}}, Hidden: []int{260}, Out: 300,
		Activation: nets.ReLU}, 130, 1)
	noAllocs(t, "forward", func() { x.net.Forward(x.work, x.in...) })
	noAllocs(t, "backward", func() { x.net.Backward(x.work, x.g, nets.Both) })
}

// Concurrent passes with a Work each give the same numbers, without data races. Err reports a failure in one of them
// once.
func TestConcurrentForward(t *testing.T) { onBackends(t, checkConcurrentForward) }

func checkConcurrentForward(t *testing.T, o native.Options, _ float64) {
	for name, a := range archs() {
		e := native.New(o)
		x := newSubject(t, e, a, 3, 1)
		want := x.forward()
		var wg sync.WaitGroup
		got := make([][]float64, 8)
		for i := range got {
			wg.Go(func() {
				w := x.net.NewWork(3)
				for range 20 {
					got[i] = values(x.net.Forward(w, x.in...))
				}
			})
		}
		wg.Wait()
		noError(t, e)
		for i := range got {
			near(t, name, got[i], want, 0)
		}
		for range 4 {
			wg.Go(func() { x.net.Forward(x.net.NewWork(3)) })
		}
		wg.Wait()
		wantError(t, e.Err(), "Forward")
		noError(t, e)
	}
}
