//go:build libtorch

package torch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

func TestTensorsConvertBetweenFormats(t *testing.T) {
	for _, d := range []nets.DType{nets.Float32, nets.Float64} {
		e := newEngine(t, d)
		x := e.NewTensor(2, 3)
		x.Set([]float32{1, -2, 0.5, 0, 3, 1e10})
		near(t, "float32 in, float64 out", values(x), []float64{1, -2, 0.5, 0, 3, 1e10}, 0)
		x.Set64([]float64{1, 2, 3, 4, 5, 1.0 / 3})
		got := make([]float32, 6)
		x.Get(got)
		if got[5] != float32(1.0/3) {
			t.Errorf("%v: %g, want %g", d, got[5], float32(1.0/3))
		}
		if y := e.NewTensor(0); nets.Size(y) != 0 {
			t.Error("an empty tensor has values")
		} else {
			y.Set(nil)
			y.Get64(nil)
		}
		ok(t, e)
	}
}

func TestVectorOperations(t *testing.T) {
	e := newEngine(t, nets.Float64)
	a, b := made(e, []float64{1, 2, 3}, 3), made(e, []float64{10, 20, 30}, 3)
	e.Add(a, -0.5, b)
	near(t, "Add", values(a), []float64{-4, -8, -12}, 0)
	e.Lerp(a, b, 0.25)
	near(t, "Lerp", values(a), []float64{-0.5, -1, -1.5}, 0)
	e.Copy(a, b)
	near(t, "Copy", values(a), []float64{10, 20, 30}, 0)
	y, r, d := e.NewTensor(3), made(e, []float64{1, 1, 1}, 3), made(e, []float64{0.9, 0.5, 0}, 3)
	e.TDTarget(y, r, d, b)
	near(t, "TDTarget", values(y), []float64{10, 11, 1}, 1e-15)
	ok(t, e)
}

func TestMisuseIsAnErrorOfTheEngine(t *testing.T) {
	e, other := newEngine(t, nets.Float32), newEngine(t, nets.Float32)
	x, y := e.NewTensor(2, 3), e.NewTensor(3, 2)
	n := must.Get(e.NewNet(architectures()["one agent"]))(t)
	w, own := n.NewWork(4), n.NewWork(4)
	s, a := e.NewTensor(1, 4, 3), e.NewTensor(1, 4, 2)
	for says, f := range map[string]func(){
		"Set: 5 values for a tensor of shape [2 3], want 6": func() { x.Set(make([]float32, 5)) },
		"Get64: 7 values":                                       func() { x.Get64(make([]float64, 7)) },
		"Copy: source has shape [3 2], want [2 3]":              func() { e.Copy(x, y) },
		"Add: source is a *torch.tensor, want a tensor of this": func() { e.Add(x, 1, other.NewTensor(2, 3)) },
		"Lerp: destination is a <nil>":                          func() { e.Lerp(nil, x, 1) },
		"TDTarget: q has shape [3 2]":                           func() { e.TDTarget(x, x, x, y) },
		"NewTensor: shape is [-1 2]":                            func() { e.NewTensor(-1, 2) },
		"NewTensor: shape is [1000000 1000000 1000000]":         func() { e.NewTensor(1e6, 1e6, 1e6) },
		"NewWork: batch of mlp":                                 func() { n.NewWork(0) },
		"is 2147483647, want 1 to 715827882":                    func() { n.NewWork(math.MaxInt32) },
		"at most 8 dimensions":                                  func() { e.NewTensor(1, 1, 1, 1, 1, 1, 1, 1, 1) },
		"is the Work's own output":                              func() { n.Forward(own, s, n.Forward(own, s, a)) },
		"Forward: 1 inputs for mlp":                             func() { n.Forward(w, s) },
		"Forward: input 1 (a) of mlp":                           func() { n.Forward(w, s, s) },
		"Forward: input 1 (a) of mlp 3 is a <nil>":              func() { n.Forward(w, s, nil) },
		"Forward: the Work is not one of mlp":                   func() { n.Forward(nil, s, a) },
		"in a Work without a Forward before":                    func() { n.Backward(n.NewWork(4), a, nets.Params) },
		"by 0, want Params, Inputs or Both":                     func() { n.Forward(w, s, a); n.Backward(w, a, 0) },
		"gradient by the output has shape [1 4 3], want [1 4 2]": func() {
			n.Forward(w, s, a)
			n.Backward(w, s,
				nets.Both)
		},
		"GradIn: input 2 of mlp": func() { w.GradIn(2) },
	} {
		f()
		x.Set(make([]float32, 6)) // does nothing: Err returns the first failure
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), "nets/torch: ") {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	if err := e.Err(); err != nil {
		t.Errorf("a failure was not forgotten: %v", err)
	}
	n.Forward(w, s, a)
	ok(t, e) // the engine works again
	for _, arch := range []nets.Arch{nil, nets.MLP{}, unknownArch{}} {
		if _, err := e.NewNet(arch); err == nil {
			t.Errorf("%T was built", arch)
		}
	}
}

type unknownArch struct{ nets.GumbelSoftmax }

func (unknownArch) Kind() string    { return "unknown" }
func (unknownArch) Validate() error { return nil }

func TestAClosedEngineSaysSo(t *testing.T) {
	e := newEngine(t, nets.Float32)
	x, g := e.NewTensor(2), newGraphSubject(t, e, "kinds", 1)
	g.Forward()
	must.Do(t, errors.Join(e.Close(), e.Close()))
	x.Set(make([]float32, 2))
	wants(t, e.Err(), "Set: the engine is closed")
	e.NewTensor(1)
	wants(t, e.Err(), "NewTensor: the engine is closed")
	if _, err := e.NewNet(architectures()["one agent"]); err == nil {
		t.Error("built a net")
	}
	g.Work.Embedding(0).Get(make([]float32, nets.Size(g.Work.Embedding(0))))
	wants(t, e.Err(), "Get: the engine is closed")
	g.Net.Head(g.Work, 0, nil, nil)
	wants(t, e.Err(), "Head: the engine is closed")
	e.Copy(g.Work.Pooled(), x)
	wants(t, e.Err(), "Copy: the engine is closed")
}

func TestLibtorchsErrorsNameOperationAndShapes(t *testing.T) {
	s := newScope()
	defer s.close()
	before := Live()
	a, b := s.zeros(codeFloat32, onCPU, 2, 3, 4), s.zeros(codeFloat32, onCPU, 2, 5, 6)
	if got := s.bmm(a, b); got != nil {
		t.Error("a product of what does not fit")
	}
	wants(t, s.err, "libtorch's bmm of [2 3 4], [2 5 6]:")
	if strings.Contains(s.err.Error(), "frame #") {
		t.Errorf("libtorch's call stack is in the error: %v", s.err)
	}
	if s.add(a, a) != nil || s.zeros(codeFloat32, onCPU, 1) != nil || s.cat(a, a) != nil {
		t.Error("an operation ran after a failure")
	}
	s.clear()
	if s.err != nil || Live() != before {
		t.Errorf("after clear: %v, %d tensors more", s.err, Live()-before)
	}
	// Conversion from boolean to integer, and an error message from the shim.
	if i := s.asNumber(s.zeros(codeBool, onCPU, 3), codeInt64); i == nil || lib.AtScalarType(i) != codeInt64 {
		t.Errorf("no integers: %v", s.err)
	}
	s.reshape(s.zeros(codeFloat32, onCPU, 6), 4, 2)
	wants(t, s.err, "reshape of [6]")
}

func TestDevices(t *testing.T) {
	for name, want := range map[string]int{"": -1, "cpu": -1, "cuda": 0, "cuda:0": 0, "cuda:12": 12} {
		if got, err := parseDevice(name); got != want || err != nil {
			t.Errorf("%q: %d, %v", name, got, err)
		}
		if want > 0 && deviceName(want) != name {
			t.Errorf("%d is called %q", want, deviceName(want))
		}
	}
	for _, name := range []string{"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda0", "CPU"} {
		if _, err := New(Options{Device: name}); err == nil || !strings.Contains(err.Error(), "want cpu or cuda:N") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := New(Options{DType: 7}); err == nil {
		t.Error("an engine in an unknown number format")
	}
	if _, err := New(Options{Threads: -1}); err == nil {
		t.Error("an engine with -1 threads")
	}
}

func TestThreads(t *testing.T) {
	before := Threads()
	defer func() {
		if err := SetThreads(before); err != nil {
			t.Error(err)
		}
	}()
	for _, n := range []int{1, 2} {
		e := must.Get(New(Options{Threads: n}))(t)
		// The number of threads determines how sums are split, so it is part of the family.
		if i := e.Info(); i.Threads != n || !strings.HasSuffix(i.Kernels, fmt.Sprintf("-%dthreads", n)) {
			t.Errorf("%+v, want %d threads", i, n)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	i := newEngine(t, nets.Float64).Info()
	if i.Name != "torch" || i.Device != "cpu" || i.DType != "float64" || i.Version != fittedRelease ||
		!strings.HasPrefix(i.Kernels, "torch-"+fittedRelease+"-") {
		t.Errorf("%+v", i)
	}
}

func TestRecordedUpdatesReportTheirName(t *testing.T) {
	e := newEngine(t, nets.Float32)
	x, runs := e.NewTensor(2), 0
	r := e.Record("counting", func() { runs++; e.Add(x, 1, x) })
	if err := errors.Join(r.Run(), r.Run()); err != nil || runs != 2 {
		t.Errorf("%v after %d runs", err, runs)
	}
	wants(t, e.Record("broken", func() { e.Copy(x, nil) }).Run(), `"broken"`, "Copy: source is a <nil>")
	wants(t, e.Record("empty", nil).Run(), `"empty"`, "no function")
}

// toyUpdate is an update of the shape that MADDPG has: target, critic step, actor step through the critic, soft
// targets.
type toyUpdate struct {
	e                        nets.Engine
	actor, critic, target    nets.Net
	wa, wq, wt               nets.Work
	adamA, adamQ             nets.Optimizer
	s, a, r, discount, y, dq nets.Tensor
	criticLoss, actorLoss    nets.Tensor
	q                        nets.Tensor // the critic's last output
}

func newToy(t testing.TB, e nets.Engine, agents, batch int) *toyUpdate {
	t.Helper()
	const obs, act = 10, 4
	neighbours := make([][]int, agents)
	for i := range neighbours {
		neighbours[i] = []int{(i + 1) % agents, (i + agents - 1) % agents}
		if agents < 3 {
			neighbours[i] = neighbours[i][:1]
		}
	}
	field := func(out int, final string, in ...nets.Port) nets.Arch {
		return nets.MeanField{
			MLP: nets.MLP{Agents: agents, In: in, Hidden: []int{64, 64}, Out: out, Activation: nets.ReLU, Final: final},
			Mix: nets.Attention, Score: nets.Exp, Keys: 32, Neighbours: neighbours,
		}
	}
	u := &toyUpdate{e: e}
	build := func(a nets.Arch) nets.Net {
		n := must.Get(e.NewNet(a))(t)
		v := draws(fmt.Sprint(a.Output()), nets.Size(n.Params()))
		for i := range v {
			v[i] *= 0.2
		}
		n.Params().Set64(v)
		return n
	}
	s, a := nets.Port{Name: "s", Width: obs}, nets.Port{Name: "a", Width: act}
	u.actor, u.critic, u.target = build(field(act, nets.Sigmoid, s)), build(field(1, nets.None, s, a)), build(field(1,
		nets.None, s, a))
	u.wa, u.wq, u.wt = u.actor.NewWork(batch), u.critic.NewWork(batch), u.target.NewWork(batch)
	var err error
	if u.adamA, err = e.NewAdam(u.actor, nets.Adam{Rate: 1e-3, Clip: 0.5}); err != nil {
		t.Fatal(err)
	}
	if u.adamQ, err = e.NewAdam(u.critic, nets.Adam{Rate: 1e-3}); err != nil {
		t.Fatal(err)
	}
	u.s, u.a = random(e, "s", agents, batch, obs), random(e, "a", agents, batch, act)
	u.r, u.discount = random(e, "r", agents, batch, 1), random(e, "d", agents, batch, 1)
	u.y, u.dq = e.NewTensor(agents, batch, 1), e.NewTensor(agents, batch, 1)
	u.criticLoss, u.actorLoss = e.NewTensor(agents), e.NewTensor(agents)
	ok(t, e)
	return u
}

func (u *toyUpdate) advance() { u.adamA.Advance(); u.adamQ.Advance() }

func (u *toyUpdate) run() {
	e := u.e
	e.TDTarget(u.y, u.r, u.discount, u.target.Forward(u.wt, u.s, u.a))
	e.Loss(nets.SquaredError{}, u.criticLoss, u.dq, u.critic.Forward(u.wq, u.s, u.a), u.y)
	u.critic.ZeroGrads()
	u.critic.Backward(u.wq, u.dq, nets.Params)
	u.adamQ.Step()
	u.q = u.critic.Forward(u.wq, u.s, u.actor.Forward(u.wa, u.s))
	e.Loss(nets.Ascent{}, u.actorLoss, u.dq, u.q)
	u.critic.Backward(u.wq, u.dq, nets.Inputs)
	u.actor.ZeroGrads()
	u.actor.Backward(u.wa, u.wq.GradIn(1), nets.Params)
	u.adamA.Step()
	e.Lerp(u.target.Params(), u.critic.Params(), 0.01)
}

func TestAnUpdateLeavesNoTensorBehind(t *testing.T) {
	e := newEngine(t, nets.Float32)
	u := newToy(t, e, 3, 8)
	count := func() int64 {
		u.advance()
		u.run()
		ok(t, e)
		return Live()
	}
	count() // allocates what is allocated on first use
	baseline := count()
	for range 20 {
		if n := count(); n != baseline {
			t.Fatalf("%d tensors after an update, %d before", n, baseline)
		}
	}
	// A failing update leaves no tensors either.
	e.Loss(nets.SquaredError{}, u.criticLoss, u.dq, u.critic.Forward(u.wq, u.s), u.y)
	if e.Err() == nil {
		t.Fatal("no error")
	}
	if n := count(); n != baseline {
		t.Errorf("%d tensors after a failed update, %d before", n, baseline)
	}
}

func TestTheUpdateLearns(t *testing.T) {
	e := newEngine(t, nets.Float32)
	u := newToy(t, e, 2, 16)
	var losses []float64
	for range 200 {
		u.advance()
		u.run()
		losses = append(losses, values(u.criticLoss)[0])
	}
	ok(t, e)
	if first, last := losses[0], slices.Min(losses[190:]); !(last < first/3) {
		t.Errorf("the critic's loss went from %g to %g", first, last)
	}
}
