package native_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Fatalf("error is %q, want it to have %q", err, p)
		}
	}
}

// Every misuse is an error with the operation and the shapes, and never a panic.
func TestErrors(t *testing.T) { onBackends(t, checkErrors) }

func checkErrors(t *testing.T, o native.Options, _ float64) {
	e, other := native.New(o), native.New(native.Options{DType: nets.Float64})
	if o.DType == nets.Float64 {
		other = native.New(native.Options{Kernels: native.Go})
	}
	a := nets.MLP{Agents: 2, In: []nets.Port{{Name: "state", Width: 3}}, Hidden: []int{4}, Out: 1, Activation: nets.ReLU}
	n, gumbel := mustNet(t, e, a), mustNet(t, e, nets.GumbelSoftmax{Agents: 2, Segments: []int{2}, Temperature: 1})
	w, x, y := n.NewWork(5), e.NewTensor(2, 5, 3), e.NewTensor(2, 5, 1)
	opt, err := e.NewAdam(n, nets.Adam{Rate: 1})
	must.Do(t, err)
	v := e.NewTensor(2)
	forward := func() { n.Forward(w, x) }
	for _, c := range []struct {
		do   func()
		want []string
	}{
		{func() { n.Forward(w, e.NewTensor(2, 5, 4)) }, []string{"Forward", "input 0 (state)", "[2 5 4]", "want [2 5 3]"}},
		{func() { n.Forward(w, e.NewTensor(2, 15)) }, []string{"Forward", "[2 15]"}},
		{func() { n.Forward(w) }, []string{"Forward", "0 inputs", "want 1"}},
		{func() { n.Forward(w, nil) }, []string{"Forward", "<nil>"}},
		{func() { n.Forward(w, other.NewTensor(2, 5, 3)) }, []string{"Forward", "float64", "float32"}},
		{func() { n.Forward(nil, x) }, []string{"Forward", "Work"}},
		{func() { n.Forward(gumbel.NewWork(5), x) }, []string{"Forward", "Work"}},
		{func() { n.NewWork(0) }, []string{"NewWork", "batch", "is 0"}},
		{func() { n.NewWork(math.MaxInt) }, []string{"NewWork", fmt.Sprint(math.MaxInt)}},
		{func() { n.NewWork(1<<27 + 1) }, []string{"NewWork", "134217729, want 1 to 134217728"}},
		{func() { n.Backward(n.NewWork(5), y, nets.Params) }, []string{"Backward", "without a Forward"}},
		{func() { forward(); n.Backward(w, x, nets.Params) }, []string{"Backward", "[2 5 3]", "want [2 5 1]"}},
		{func() { forward(); n.Backward(w, y, 0) }, []string{"Backward", "by 0"}},
		{func() { forward(); n.Backward(w, y, 4) }, []string{"Backward", "by 4"}},
		{func() { forward(); n.Backward(w, nil, nets.Params) }, []string{"Backward", "<nil>"}},
		{func() { forward(); n.Forward(w, y); e.Err(); n.Backward(w, y, nets.Params) },
			[]string{"Backward", "without a Forward"}},
		{func() { w.GradIn(1) }, []string{"GradIn", "input 1", "one of 1"}},
		{func() { e.NewTensor(2, -1) }, []string{"NewTensor", "[2 -1]"}},
		{func() { e.NewTensor(math.MaxInt, math.MaxInt) }, []string{"NewTensor"}},
		{func() { x.Set(make([]float32, 29)) }, []string{"Set", "29 values", "[2 5 3]", "want 30"}},
		{func() { x.Get(make([]float32, 31)) }, []string{"Get", "31 values"}},
		{func() { x.Set64(nil) }, []string{"Set64", "0 values"}},
		{func() { x.Get64(nil) }, []string{"Get64", "0 values"}},
		{func() { e.Copy(x, y) }, []string{"Copy", "source has shape [2 5 1], want [2 5 3]"}},
		{func() { e.Add(x, 1, y) }, []string{"Add", "[2 5 1]"}},
		{func() { e.Lerp(nil, y, 1) }, []string{"Lerp", "destination"}},
		{func() { e.TDTarget(y, y, x, y) }, []string{"TDTarget", "discount has shape [2 5 3], want [2 5 1]"}},
		{func() { e.Loss(nil, v, y, y) }, []string{"Loss", "no loss"}},
		{func() { e.Loss(nets.Ascent{}, v, y) }, []string{"Loss", "ascent", "no args"}},
		{func() { e.Loss(nets.Ascent{}, v, y, y, y) }, []string{"Loss", "ascent", "2 args, want 1"}},
		{func() { e.Loss(nets.Ascent{}, v, x, y) }, []string{"Loss", "gradient", "[2 5 3]", "want [2 5 1]"}},
		{func() { e.Loss(nets.Ascent{}, y, y, y) }, []string{"Loss", "value has shape [2 5 1]"}},
		{func() { e.Loss(nets.SquaredError{}, v, y, y, x) }, []string{"Loss", "squared error", "arg 1", "[2 5 3]"}},
		{func() { e.Loss(nets.Huber{}, v, y, y, y) }, []string{"Loss", "Huber", "delta is 0"}},
		{func() { e.Loss(nets.ClippedSurrogate{Clip: -1}, v, x, x, y, y, x, y) }, []string{"Loss", "clip is -1"}},
		{func() { e.Loss(nets.PolicyGradient{}, v, x, x, x, y, x) }, []string{"Loss", "arg 1", "[2 5 3]"}},
		{func() { e.Loss(nets.Custom{Name: "mine"}, v, x, x) }, []string{"Loss", "mine", "no function"}},
		{func() { e.Loss(foreignLoss{}, v, x, x) }, []string{"Loss", "foreign", "nets.Custom"}},
		{opt.Step, []string{"Step", "Advance"}},
		{func() { opt.SetRate(-1) }, []string{"SetRate", "-1"}},
		{func() { opt.SetRate(math.NaN()) }, []string{"SetRate", "NaN"}},
		{func() { opt.SetSteps(-1) }, []string{"SetSteps", "-1"}},
		{func() { native.New(native.Options{DType: 9}).Err() }, nil},
	} {
		c.do()
		if c.want != nil {
			wantError(t, e.Err(), append(c.want, "nets/native: ")...)
		}
		noError(t, e)
	}
	wantError(t, native.New(native.Options{DType: 9}).Err(), "DType(9)")
	wantError(t, native.New(native.Options{DType: nets.Float64, Kernels: native.AVX2}).Err(), `kernels are "avx2" in float64`)

	for _, a := range []nets.Arch{nil, nets.MLP{}, &a} {
		if _, err := e.NewNet(a); err == nil {
			t.Errorf("NewNet accepted %v", a)
		}
	}
	for _, c := range []nets.Adam{{Rate: -1}, {Beta1: 1}, {Beta2: -1}, {Epsilon: -1}, {Clip: -1}, {Rate: math.NaN()}} {
		_, err := e.NewAdam(n, c)
		wantError(t, err, "NewAdam")
	}
	_, err = e.NewAdam(mustNet(t, other, a), nets.Adam{})
	wantError(t, err, "NewAdam", "one of this engine")
}

type foreignLoss struct{}

func (foreignLoss) LossName() string     { return "foreign" }
func (foreignLoss) Args() []nets.LossArg { return nil }
func (foreignLoss) Validate() error      { return nil }

// After the first failure operations do nothing until Err returns it.
func TestSticky(t *testing.T) { onBackends(t, checkSticky) }

func checkSticky(t *testing.T, o native.Options, _ float64) {
	e := native.New(o)
	a := nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 1}}, Out: 1, Activation: nets.ReLU}
	n := mustNet(t, e, a)
	n.Params().Set([]float32{2, 1})
	w, x, y := n.NewWork(1), e.NewTensor(1, 1, 1), e.NewTensor(1, 1, 1)
	x.Set([]float32{3})
	if got := values(n.Forward(w, x)); got[0] != 7 {
		t.Fatalf("forward gives %v, want 7", got)
	}
	opt, _ := e.NewAdam(n, nets.Adam{Rate: 1})
	opt.Advance()

	e.Copy(x, e.NewTensor(2))
	e.Add(x, 1, e.NewTensor(3))
	e.Copy(y, x)
	e.Add(y, 1, x)
	e.Lerp(y, x, 1)
	e.TDTarget(y, x, x, x)
	e.Loss(nets.Ascent{}, e.NewTensor(1), y, x)
	x.Set([]float32{5})
	n.Forward(w, x)
	n.Backward(w, x, nets.Params)
	opt.Step()
	n.ZeroGrads()
	var got [1]float32
	y.Get(got[:])
	wantError(t, e.Err(), "Copy", "[2]")
	noError(t, e)
	if p, x, y := values(n.Params()), values(x), values(y); p[0] != 2 || x[0] != 3 || y[0] != 0 {
		t.Errorf("after a failure operations went on: parameters %v, x %v, y %v", p, x, y)
	}
}

// NaN and infinities reach the results that depend on them, and no others.
func TestNaN(t *testing.T) { onBackends(t, checkNaN) }

func checkNaN(t *testing.T, o native.Options, _ float64) {
	for name, a := range archs() {
		e := native.New(o)
		x := newSubject(t, e, a, 3, 4)
		clean := x.forward()
		in := values(x.in[0])
		in[0] = math.NaN() // agent 0, sample 0
		x.in[0].Set64(in)
		got := x.forward()
		out := a.Output().Width
		if !math.IsNaN(got[0]) {
			t.Errorf("%s: NaN in an input gives %g", name, got[0])
		}
		for i := range got {
			if sample := i / out % 3; sample != 0 && got[i] != clean[i] {
				t.Errorf("%s: NaN in sample 0 changed sample %d", name, sample)
			}
		}
		x.net.Backward(x.work, x.g, nets.Both)
		if g := values(x.work.GradIn(0)); !math.IsNaN(g[0]) && a.Kind() == "gumbel-softmax" {
			t.Errorf("%s: the gradient of NaN is %g", name, g[0])
		}
		noError(t, e)
	}
	e := native.New(o)
	n := mustNet(t, e, nets.GumbelSoftmax{Agents: 1, Segments: []int{2, 2}, Temperature: 1, Hard: true})
	got := values(n.Forward(n.NewWork(1), of(e, []float64{0, math.NaN(), 0, 1}, 1, 1, 4), e.NewTensor(1, 1, 4)))
	if !math.IsNaN(got[0]) || !math.IsNaN(got[1]) || got[2] != 0 || got[3] != 1 {
		t.Errorf("hard choice among NaN is %v, want NaN NaN 0 1", got)
	}
}

func TestVectorOperations(t *testing.T) { onBackends(t, checkVectorOperations) }

func checkVectorOperations(t *testing.T, o native.Options, _ float64) {
	e := native.New(o)
	x, y := of(e, []float64{1, 2, 3}, 3), of(e, []float64{10, 20, 30}, 3)
	e.Add(x, 0.5, y)
	near(t, "Add", values(x), []float64{6, 12, 18}, 0)
	e.Lerp(x, y, 0.25)
	near(t, "Lerp", values(x), []float64{7, 14, 21}, 0)
	e.TDTarget(x, y, of(e, []float64{0, 0.5, 1}, 3), of(e, []float64{4, 4, 4}, 3))
	near(t, "TDTarget", values(x), []float64{10, 22, 34}, 0)
	e.Copy(x, y)
	near(t, "Copy", values(x), []float64{10, 20, 30}, 0)
	noError(t, e)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Info names all that the bits depend on.
func TestInfo(t *testing.T) {
	onBackends(t, func(t *testing.T, o native.Options, _ float64) {
		o.Threads = 3
		want := nets.Info{Name: "native", Device: "cpu", DType: o.DType.String(), Threads: 3, Kernels: "x86-fma"}
		switch o.Kernels {
		case native.Reference:
			want.Kernels = "reference"
		case native.Go, "":
			want.Threads, want.Kernels = 1, "go-"+runtime.GOARCH
		}
		got := native.New(o).Info()
		if want.Threads == 1 { // some compilers fuse products with sums
			got.Kernels = strings.TrimSuffix(got.Kernels, "-fma")
		}
		if got != want {
			t.Errorf("Info is %+v, want %+v", got, want)
		}
	})
}
