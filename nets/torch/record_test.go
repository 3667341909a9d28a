//go:build libtorch

package torch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

// fill sets a toy's batch to numbers that depend on the name.
func (u *toyUpdate) fill(name string) {
	for _, x := range []nets.Tensor{u.s, u.a, u.r, u.discount} {
		x.Set64(draws(name, nets.Size(x)))
	}
}

// libtorch's operations, with all their numbers, must not depend on values on the host, because a graph repeats them.
func TestNothingInAnUpdateDependsOnTheHost(t *testing.T) {
	e := newEngine(t, nets.Float32)
	e.back.debug = true
	u := newToy(t, e, 3, 8)
	r := e.Record("toy", u.run)
	for i := range 6 {
		u.fill(fmt.Sprint("batch", i))
		u.adamA.SetRate(1e-3 / float64(i+1))
		u.adamQ.SetSteps(int64(1000 * i))
		u.advance()
		must.Do(t, r.Run())
	}
	if n := len(r.(*recorded).first); n < 50 {
		t.Errorf("%d operations of an update were seen", n)
	}
	// Numbers that change are found.
	tau := 0.5
	bad := e.Record("bad", func() { tau /= 2; e.Lerp(u.target.Params(), u.critic.Params(), tau) })
	for range 2 {
		must.Do(t, bad.Run())
	}
	wants(t, bad.Run(), `"bad"`, "aten::lerp_", "0.0625", "0.125", "must do the same operations")
}

// lossUpdates are all losses with their operands, on 3 agents, 4 samples and 5 choices.
func lossUpdates(e nets.Engine) map[string]func() {
	x, y := random(e, "x", 3, 4, 5), random(e, "y", 3, 4, 5)
	choice, advantage, old := e.NewTensor(3, 4, 1), random(e, "adv", 3, 4, 1), random(e, "old", 3, 4, 1)
	mask := made(e, slices.Repeat([]float64{1}, 60), 3, 4, 5)
	value, grad := e.NewTensor(3), e.NewTensor(3, 4, 5)
	host := nets.Custom{Name: "host", Func: func(value, grad []float64, args [][]float64, shapes [][]int) {}}
	return map[string]func(){
		"squared":   func() { e.Loss(nets.SquaredError{}, value, grad, x, y) },
		"huber":     func() { e.Loss(nets.Huber{Delta: 0.5}, value, grad, x, y) },
		"ascent":    func() { e.Loss(nets.Ascent{}, value, grad, x) },
		"penalty":   func() { e.Loss(nets.Penalty{Coef: 0.1}, value, grad, x) },
		"policy":    func() { e.Loss(nets.PolicyGradient{Entropy: 0.1}, value, grad, x, choice, advantage, mask) },
		"surrogate": func() { e.Loss(nets.ClippedSurrogate{Clip: 0.2}, value, grad, x, choice, advantage, mask, old) },
		"custom":    func() { e.Loss(host, value, grad, x) },
	}
}

// Within updates no operation makes the host wait or copies between host and device, except for a user's own loss,
// which is computed on the host.
func TestUpdatesDoNotWaitForTheDevice(t *testing.T) {
	e := newEngine(t, nets.Float32)
	u := newToy(t, e, 3, 8)
	u.advance()
	all := lossUpdates(e)
	all["whole update"] = u.run
	for name, update := range all {
		r := e.Record(name, update).(*recorded)
		ops := must.Get(watch(r.once))(t)
		ok(t, e)
		n := 0
		for _, op := range ops {
			if waits(op) {
				n++
			}
		}
		if custom := name == "custom"; custom != (n > 0) || custom != (r.obstacle != nil) || len(ops) < 2 {
			t.Errorf("%s: %d of %d operations wait (%v)", name, n, len(ops), r.obstacle)
		}
		t.Logf("%s: %d operations, %d wait", name, len(ops), n)
	}
}

// fakeGrapher needs no GPU: end undoes what ran since begin, and a replay calls the function.
func fakeGrapher(tensors func() []nets.Tensor) *grapher {
	var before [][]float64
	mark := new(int)
	return &grapher{
		begin: func(*backend) (unsafe.Pointer, error) {
			for _, x := range tensors() {
				before = append(before, values(x))
			}
			return unsafe.Pointer(mark), nil
		},
		end: func(*backend, unsafe.Pointer) error {
			for i, x := range tensors() {
				x.Set64(before[i])
			}
			before = nil
			return nil
		},
		replay: func(_ *backend, r *recorded) error { *mark++; r.update(); return nil },
		free:   func(unsafe.Pointer) {},
	}
}

// all lists the tensors that an update changes.
func (u *toyUpdate) all() []nets.Tensor {
	out := []nets.Tensor{u.y, u.dq, u.criticLoss, u.actorLoss, u.wq.GradIn(0), u.wq.GradIn(1)}
	for _, n := range []nets.Net{u.actor, u.critic, u.target} {
		out = append(out, n.Params(), n.Grads())
	}
	for _, o := range []nets.Optimizer{u.adamA, u.adamQ} {
		m, v := o.Moments()
		out = append(out, m, v, o.Norms())
	}
	return out
}

func TestCapturedUpdatesLeaveWhatOthersDo(t *testing.T) {
	plain, e := newEngine(t, nets.Float32), newEngine(t, nets.Float32)
	v, u := newToy(t, plain, 3, 8), newToy(t, e, 3, 8)
	e.back.graphs = fakeGrapher(u.all)
	var told []string
	e.back.notice = func(line string) { told = append(told, line) }
	calls := 0
	other, r := plain.Record("toy", v.run), e.Record("toy", func() { calls++; u.run() }).(*recorded)
	probe := func(u *toyUpdate) []float64 { return values(u.critic.Forward(u.wq, u.s, u.a)) }
	var live int64
	for i := range 8 {
		for _, x := range []*toyUpdate{v, u} {
			x.fill(fmt.Sprint("batch", i))
			x.advance()
		}
		must.Do(t, other.Run())
		must.Do(t, r.Run())
		for j, x := range v.all() {
			near(t, fmt.Sprintf("run %d: tensor %d", i, j), values(u.all()[j]), values(x), 0)
		}
		// A Work's output is valid after each run, and a Work may be used between runs.
		near(t, "output", values(u.q), values(v.q), 0)
		if i%2 == 1 {
			near(t, "forward in between", probe(u), probe(v), 0)
		}
		if live == 0 && i == 3 {
			live = Live()
		}
	}
	if r.graph == nil || calls != 9 || len(told) > 0 {
		t.Errorf("captured %v, the function was called %d times (want 9: the first run's, the capture's, 7 "+
			"replays'), told %q", r.graph != nil, calls, told)
	}
	if n := Live(); n != live {
		t.Errorf("%d tensors, %d four runs before", n, live)
	}
}

func TestWhatCannotBeCapturedRunsAsBefore(t *testing.T) {
	for name, c := range map[string]struct {
		says  string
		build func(e *engine, u *toyUpdate) func()
	}{
		"own loss": {"is computed on the host", func(e *engine,
			_ *toyUpdate) func() {
			return lossUpdates(e)["custom"]
		}},
		"upload": {"Set of tensor", func(_ *engine, u *toyUpdate) func() {
			return func() {
				u.y.Set(make([]float32,
					nets.Size(u.y)))
			}
		}},
		"output": {"computed outside of the update", func(e *engine, u *toyUpdate) func() {
			q := u.critic.Forward(u.wq, u.s, u.a)
			return func() { e.Copy(u.y, q) }
		}},
		"gradient": {"computed outside of the update", func(_ *engine, u *toyUpdate) func() {
			u.critic.Forward(u.wq, u.s, u.a)
			return func() { u.critic.Backward(u.wq, u.dq, nets.Params) }
		}},
		"nested": {`it runs "inner"`, func(e *engine, u *toyUpdate) func() {
			inner := e.Record("inner", func() { e.Copy(u.y, u.r) })
			return func() { _ = inner.Run() }
		}},
		"other operations": {"other operations", func(e *engine, u *toyUpdate) func() {
			n := 0
			return func() {
				if n++; n == 2 {
					u.critic.Forward(u.wq, u.s, u.a)
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, nets.Float32)
			u := newToy(t, e, 3, 8)
			e.back.graphs = fakeGrapher(func() []nets.Tensor { return nil })
			var told []string
			e.back.notice = func(line string) { told = append(told, line) }
			r := e.Record(name, c.build(e, u)).(*recorded)
			for range 3 {
				must.Do(t, r.Run())
			}
			if r.graph != nil || len(told) != 1 || !strings.Contains(told[0], c.says) {
				t.Errorf("captured %v, told %q, want once what says %q", r.graph != nil, told, c.says)
			}
		})
	}
	// A graph that fails to replay is an error of the run; one that cannot begin is a notice.
	e := newEngine(t, nets.Float32)
	u := newToy(t, e, 3, 8)
	broken := fakeGrapher(u.all)
	broken.replay = func(*backend, *recorded) error { return fmt.Errorf("lost device") }
	e.back.graphs = broken
	u.advance()
	r := e.Record("toy", u.run)
	must.Do(t, r.Run())
	wants(t, r.Run(), `"toy"`, "lost device")
}

// Set copies through staging memory, as on a GPU, but not pinned.
func TestStagedUploads(t *testing.T) {
	for _, d := range []nets.DType{nets.Float32, nets.Float64} {
		e := newEngine(t, d)
		e.back.staged = true
		x, y := e.NewTensor(2, 3), e.NewTensor(1)
		for i := range 5 {
			want := draws(fmt.Sprint(i), 6)
			x.Set64(want)
			near(t, "values", values(x), want, 1e-7)
			y.Set([]float32{float32(i)})
			near(t, "one value", values(y), []float64{float64(i)}, 0)
		}
		x.Set64(make([]float64, 5))
		wants(t, e.Err(), "Set64: 5 values")
		in := make([]float32, 6)
		if n := testing.AllocsPerRun(20, func() { x.Set(in) }); n > 0 {
			t.Errorf("Set allocates %g times", n)
		}
		ok(t, e)
	}
}
