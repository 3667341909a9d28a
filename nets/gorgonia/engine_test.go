package gorgonia

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

func newTest(t testing.TB, d nets.DType) nets.Engine {
	t.Helper()
	e := must.Get(New(Options{DType: d}))(t)
	return e
}

func noError(t testing.TB, e nets.Engine) {
	t.Helper()
	must.Do(t, e.Err())
}

// of returns a tensor with given numbers.
func of(e nets.Engine, x []float64, shape ...int) nets.Tensor {
	t := e.NewTensor(shape...)
	t.Set64(x)
	return t
}

func values(t nets.Tensor) []float64 {
	x := make([]float64, nets.Size(t))
	t.Get64(x)
	return x
}

func near(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Fatalf("%s: value %d is %g, want %g within %g", what, i, got[i], want[i], tol)
		}
	}
}

func TestOptions(t *testing.T) {
	if _, err := New(Options{DType: 9}); err == nil || !strings.Contains(err.Error(),
		"DType(9), want float32 or float64") {
		t.Errorf("error %v", err)
	}
	i := newTest(t, nets.Float64).Info()
	if i.Name != "gorgonia" || i.DType != "float64" || i.Version != release || !strings.HasPrefix(i.Kernels,
		"gorgonia-"+release) || i.Threads < 1 {
		t.Errorf("%+v", i)
	}
	mod := must.Get(os.ReadFile("../../go.mod"))(t)
	if !strings.Contains(string(mod), "gorgonia.org/gorgonia v"+release+"\n") {
		t.Errorf("go.mod doesn't have gorgonia %s", release)
	}
}

func TestVectorOperations(t *testing.T) {
	for _, d := range []nets.DType{nets.Float32, nets.Float64} {
		e := newTest(t, d)
		x, y := of(e, []float64{1, 2, 3}, 3), of(e, []float64{10, 20, 30}, 3)
		e.Add(x, 0.5, y)
		near(t, "Add", values(x), []float64{6, 12, 18}, 0)
		e.Lerp(x, y, 0.25)
		near(t, "Lerp", values(x), []float64{7, 14, 21}, 0)
		e.TDTarget(x, y, of(e, []float64{0, 0.5, 1}, 3), of(e, []float64{4, 4, 4}, 3))
		near(t, "TDTarget", values(x), []float64{10, 22, 34}, 0)
		e.Copy(x, y)
		single := make([]float32, 3)
		x.Get(single)
		if !slices.Equal(single, []float32{10, 20, 30}) {
			t.Errorf("Copy: %v", single)
		}
		x.Set([]float32{1, 2, 3})
		near(t, "Set", values(x), []float64{1, 2, 3}, 0)
		noError(t, e)
	}
}

// Every misuse is an error with the operation and the shapes, and never a panic; after Err the engine works again.
func TestErrors(t *testing.T) {
	e, other := newTest(t, nets.Float32), newTest(t, nets.Float64)
	a := nets.MLP{Agents: 2, In: []nets.Port{{Name: "state", Width: 3}}, Hidden: []int{4}, Out: 1, Activation: nets.ReLU}
	n := must.Get(e.NewNet(a))(t)
	w, x, y, v := n.NewWork(5), e.NewTensor(2, 5, 3), e.NewTensor(2, 5, 1), e.NewTensor(2)
	opt := must.Get(e.NewAdam(n, nets.Adam{Rate: 1}))(t)
	forward := func() { n.Forward(w, x) }
	for want, do := range map[string]func(){
		"Forward: input 0 (state) of mlp 1 has shape [2 5 1], want [2 5 3]": func() { n.Forward(w, y) },
		"Forward: 0 inputs for mlp 1, want 1":                               func() { n.Forward(w) },
		"Forward: input 0 (state) of mlp 1 is a <nil>":                      func() { n.Forward(w, nil) },
		"in float32": func() {
			n.Forward(w,
				other.NewTensor(2, 5, 3))
		},
		"Forward: the Work is not one of mlp 1":                 func() { n.Forward(nil, x) },
		"NewWork: batch of mlp 1 is 0":                          func() { n.NewWork(0) },
		"NewWork: batch of mlp 1 is " + fmt.Sprint(math.MaxInt): func() { n.NewWork(math.MaxInt) },
		"Backward: mlp 1 in a Work without a Forward": func() {
			n.Backward(n.NewWork(5), y,
				nets.Params)
		},
		"gradient by the output has shape [2 5 3], want [2 5 1]": func() {
			forward()
			n.Backward(w, x,
				nets.Params)
		},
		"Backward: mlp 1 by 4": func() { forward(); n.Backward(w, y, 4) },
		"Backward: gradient by the output is a <nil>": func() {
			forward()
			n.Backward(w, nil,
				nets.Both)
		},
		"the parameters of mlp 1 changed since the Forward":     func() { forward(); n.Params().Set(make([]float32, 42)); n.Backward(w, y, nets.Both) },
		"GradIn: input 1 of mlp 1, want one of 1":               func() { w.GradIn(1) },
		"NewTensor: shape is [2 -1]":                            func() { e.NewTensor(2, -1) },
		"NewTensor: shape is [9223372036854775807 2]":           func() { e.NewTensor(math.MaxInt, 2) },
		"Set: 29 values for a tensor of shape [2 5 3], want 30": func() { x.Set(make([]float32, 29)) },
		"Get64: 0 values": func() { x.Get64(nil) },
		"Copy: source has shape [2 5 1], want [2 5 3]":       func() { e.Copy(x, y) },
		"Lerp: destination is a <nil>":                       func() { e.Lerp(nil, y, 1) },
		"TDTarget: discount has shape [2 5 3]":               func() { e.TDTarget(y, y, x, y) },
		"Loss: no loss":                                      func() { e.Loss(nil, v, y, y) },
		"Loss: ascent has no args":                           func() { e.Loss(nets.Ascent{}, v, y) },
		"Loss: ascent has 2 args, want 1":                    func() { e.Loss(nets.Ascent{}, v, y, y, y) },
		"Loss: the gradient has shape [2 5 3], want [2 5 1]": func() { e.Loss(nets.Ascent{}, v, x, y) },
		"Loss: ascent: the value has shape [2 5 1]":          func() { e.Loss(nets.Ascent{}, y, y, y) },
		"Loss: squared error: arg 1 has shape [2 5 3]": func() {
			e.Loss(nets.SquaredError{},
				v, y, y, x)
		},
		"Loss: Huber: delta is 0":             func() { e.Loss(nets.Huber{}, v, y, y, y) },
		"Loss: clipped surrogate: clip is -1": func() { e.Loss(nets.ClippedSurrogate{Clip: -1}, v, x, x, y, y, x, y) },
		"Loss: policy gradient: arg 1 has shape [2 5 3]": func() {
			e.Loss(nets.PolicyGradient{},
				v, x, x, x, y, x)
		},
		"Loss: mine: no function": func() { e.Loss(nets.Custom{Name: "mine"}, v, x, x) },
		"Loss: foreign (gorgonia.foreignLoss) is not computed by this engine": func() { e.Loss(foreignLoss{}, v, x, x) },
		"Step: Adam of mlp 1 at step 0":                                       opt.Step,
		"SetRate: Adam of mlp 1 at rate NaN":                                  func() { opt.SetRate(math.NaN()) },
		"SetSteps: Adam of mlp 1 after -1 steps":                              func() { opt.SetSteps(-1) },
	} {
		do()
		e.Add(x, 1, x) // does nothing: the first failure stays
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(),
			"nets/gorgonia: ") {
			t.Errorf("error %v, want one that says %q", err, want)
		}
		noError(t, e)
	}
	if got := values(x); slices.Max(got) != 0 {
		t.Error("operations went on after a failure")
	}
	for _, a := range []nets.Arch{nil, nets.MLP{}, foreignArch{a}} {
		if _, err := e.NewNet(a); err == nil {
			t.Errorf("NewNet took a %T", a)
		}
	}
	for _, c := range []nets.Adam{{Rate: -1}, {Beta1: 1}, {Clip: -1}} {
		if _, err := e.NewAdam(n, c); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("NewAdam with %+v: error %v", c, err)
		}
	}
	if _, err := other.NewAdam(n, nets.Adam{Rate: 1}); err == nil {
		t.Error("NewAdam took another engine's net")
	}
}

type foreignLoss struct{}

func (foreignLoss) LossName() string     { return "foreign" }
func (foreignLoss) Args() []nets.LossArg { return nil }
func (foreignLoss) Validate() error      { return nil }

type foreignArch struct{ nets.MLP }

func TestRecord(t *testing.T) {
	e := newTest(t, nets.Float32)
	x := of(e, []float64{1}, 1)
	double := e.Record("double", func() { e.Add(x, 1, x) })
	for range 3 {
		must.Do(t, double.Run())
	}
	near(t, "three runs", values(x), []float64{8}, 0)
	for name, update := range map[string]func(){"broken": func() { e.Copy(x, nil) }, "empty": nil} {
		if err := e.Record(name, update).Run(); err == nil || !strings.Contains(err.Error(), `recorded update "`+name+`"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	noError(t, e)
}

// A panic in gorgonia and an error of gorgonia both become errors.
func TestGorgoniasFailures(t *testing.T) {
	g := newGraph[float64](newTest(t, nets.Float64).(*engine[float64]).back.format)
	x := g.leaf(2, 3, make([]float64, 6))
	if y := g.exp(g.add(x, g.filled(3, 2, 1))); y != nil || g.err == nil {
		t.Errorf("a sum of two shapes is %v, error %v", y, g.err)
	}
	if _, err := g.gradients([]node{x}, []node{x}, []node{x}); err == nil {
		t.Error("gradients after a failure")
	}
	if err := new(program[float64]).compile(g, []node{x}, forwards, 0); err == nil {
		t.Error("a program after a failure")
	}
	err := func() (err error) {
		defer rescue(&err)
		panic("that")
	}()
	if err == nil || err.Error() != "gorgonia: that" {
		t.Errorf("error %v", err)
	}
}
