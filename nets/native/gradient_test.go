package native_test

import (
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// Gradients w.r.t. parameters and inputs are those of finite differences, for every kind of network and every loss.
func TestGradients(t *testing.T) {
	all := must.Get(netstest.Gradients(native.New(native.Options{DType: nets.Float64}), 1))(t)
	for _, g := range all {
		if !(g.Error <= 1e-8) {
			t.Error(g)
		}
	}
}

// Params and Inputs give the same gradients as Both. Params adds to gradients, Inputs overwrites them. A second
// backward pass uses the same forward pass.
func TestWrt(t *testing.T) { onBackends(t, checkWrt) }

func checkWrt(t *testing.T, o native.Options, tol float64) {
	for name, a := range archs() {
		e := native.New(o)
		x := newSubject(t, e, a, 4, 1)
		x.forward()
		x.net.Backward(x.work, x.g, nets.Both)
		params := values(x.net.Grads())
		inputs := make([][]float64, len(x.in))
		for i := range x.in {
			inputs[i] = values(x.work.GradIn(i))
		}
		x.net.Backward(x.work, x.g, nets.Inputs)
		near(t, name+": Inputs leaves parameters", values(x.net.Grads()), params, 0)
		for i := range x.in {
			near(t, name+": Inputs", values(x.work.GradIn(i)), inputs[i], 0)
			x.work.GradIn(i).Set64(make([]float64, len(inputs[i])))
		}
		x.net.Backward(x.work, x.g, nets.Params)
		twice := make([]float64, len(params))
		for i, v := range params {
			twice[i] = 2 * v
		}
		near(t, name+": Params adds", values(x.net.Grads()), twice, tol)
		for i := range x.in {
			near(t, name+": Params leaves inputs", values(x.work.GradIn(i)), make([]float64, len(inputs[i])), 0)
		}
		noError(t, e)
	}
}

// Two forward passes of one net before either backward pass do not affect each other.
func TestTwoWorks(t *testing.T) { onBackends(t, checkTwoWorks) }

func checkTwoWorks(t *testing.T, o native.Options, _ float64) {
	a := archs()["attention others self exp"]
	e := native.New(o)
	x := newSubject(t, e, a, 4, 1)
	x.forward()
	x.net.Backward(x.work, x.g, nets.Params)
	want := values(x.net.Grads())

	second := x.net.NewWork(6)
	s := rng.NewStream(9, "second")
	var in []nets.Tensor
	for _, p := range a.Inputs() {
		in = append(in, newNormal(e, s, a.AgentCount(), 6, p.Width))
	}
	x.forward()
	x.net.Forward(second, in...)
	x.net.ZeroGrads()
	x.net.Backward(x.work, x.g, nets.Params)
	near(t, "gradient with a pass between", values(x.net.Grads()), want, 0)
	x.net.Backward(second, newNormal(e, s, a.AgentCount(), 6, a.Output().Width), nets.Both)
	noError(t, e)
}

// float32 agrees with float64 to float32's precision.
func TestFloat32(t *testing.T) {
	for name, a := range archs() {
		e32, e64 := native.New(native.Options{}), native.New(native.Options{DType: nets.Float64})
		x, y := newSubject(t, e32, a, 5, 1), newSubject(t, e64, a, 5, 1)
		near(t, name+": output", x.forward(), y.forward(), 2e-6)
		x.net.Backward(x.work, x.g, nets.Both)
		y.net.Backward(y.work, y.g, nets.Both)
		near(t, name+": gradient", values(x.net.Grads()), values(y.net.Grads()), 1e-5)
		for i := range x.in {
			near(t, name+": gradient by input", values(x.work.GradIn(i)), values(y.work.GradIn(i)), 1e-5)
		}
	}
}
