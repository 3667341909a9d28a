//go:build libtorch

package torch

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

// BenchmarkOperation is one call of libtorch from Go: an addition of two small tensors, including the check for an
// error and freeing the result. The goal is at most a microsecond.
func BenchmarkOperation(b *testing.B) {
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := newScope()
	defer s.close()
	enter(false)
	a := s.zeros(codeFloat32, onCPU, 4)
	kept := len(s.held)
	const batch = 64
	for n := 0; b.Loop(); n++ {
		s.add(a, a)
		if n%batch == batch-1 {
			s.release(kept)
		}
	}
	if s.err != nil {
		b.Fatal(s.err)
	}
}

// BenchmarkForward is acting: a small policy on a batch of one.
func BenchmarkForward(b *testing.B) {
	e := newEngine(b, nets.Float32)
	n := must.Get(e.NewNet(nets.MLP{Agents: 1, In: []nets.Port{{Name: "s", Width: 64}}, Hidden: []int{128, 128}, Out: 8,
		Activation: nets.ReLU}))(b)
	w, in := n.NewWork(1), []nets.Tensor{random(e, "s", 1, 1, 64)}
	b.ReportAllocs()
	for b.Loop() {
		n.Forward(w, in...)
	}
	ok(b, e)
}

// BenchmarkUpdate is a whole update with attention.
func BenchmarkUpdate(b *testing.B) {
	for _, size := range [][2]int{{5, 64}, {12, 64}, {5, 1024}} {
		b.Run(fmt.Sprintf("agents=%d/batch=%d", size[0], size[1]), func(b *testing.B) {
			e := newEngine(b, nets.Float32)
			u := newToy(b, e, size[0], size[1])
			r := e.Record("toy", u.run)
			b.ReportAllocs()
			for b.Loop() {
				u.advance()
				must.Do(b, r.Run())
			}
		})
	}
}

// Operations that an update repeats do not allocate in Go's memory.
func TestOperationsDoNotAllocateInGo(t *testing.T) {
	e := newEngine(t, nets.Float32)
	u := newToy(t, e, 3, 8)
	in := []nets.Tensor{u.s, u.a}
	u.advance()
	u.run()
	value := make([]float32, 3)
	for name, f := range map[string]func(){
		"Forward":     func() { u.critic.Forward(u.wq, in...) },
		"Step":        u.adamQ.Step,
		"Lerp":        func() { e.Lerp(u.target.Params(), u.critic.Params(), 0.01) },
		"Copy":        func() { e.Copy(u.y, u.r) },
		"Add":         func() { e.Add(u.y, 0.5, u.r) },
		"TDTarget":    func() { e.TDTarget(u.y, u.r, u.discount, u.dq) },
		"ZeroGrads":   u.critic.ZeroGrads,
		"Get and Set": func() { u.criticLoss.Get(value); u.criticLoss.Set(value) },
		"Advance":     u.adamQ.Advance,
	} {
		if n := testing.AllocsPerRun(20, f); n > 0 {
			t.Errorf("%s allocates %g times", name, n)
		}
	}
	ok(t, e)
}
