package native_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// normal returns n draws from the standard normal distribution.
func normal(s *rng.Stream, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = s.Norm()
	}
	return x
}

// newNormal returns a tensor of standard normal numbers.
func newNormal(e nets.Engine, s *rng.Stream, shape ...int) nets.Tensor {
	t := e.NewTensor(shape...)
	t.Set64(normal(s, nets.Size(t)))
	return t
}

func values(t nets.Tensor) []float64 {
	x := make([]float64, nets.Size(t))
	t.Get64(x)
	return x
}

// of returns a tensor with the given numbers.
func of(e nets.Engine, x []float64, shape ...int) nets.Tensor {
	t := e.NewTensor(shape...)
	t.Set64(x)
	return t
}

func mustNet(t testing.TB, e nets.Engine, a nets.Arch) nets.Net {
	t.Helper()
	n := must.Get(e.NewNet(a))(t)
	return n
}

func noError(t testing.TB, e nets.Engine) {
	t.Helper()
	must.Do(t, e.Err())
}

// subject is a network with random parameters, inputs and gradient w.r.t. its output.
type subject struct {
	net  nets.Net
	work nets.Work
	in   []nets.Tensor
	g    nets.Tensor
}

func newSubject(t testing.TB, e nets.Engine, a nets.Arch, batch int, seed uint64) subject {
	t.Helper()
	s := rng.NewStream(seed, "subject")
	x := subject{net: mustNet(t, e, a)}
	p := normal(s, nets.Size(x.net.Params()))
	for i := range p {
		p[i] *= 0.7
	}
	x.net.Params().Set64(p)
	x.work = x.net.NewWork(batch)
	for _, port := range a.Inputs() {
		x.in = append(x.in, newNormal(e, s, a.AgentCount(), batch, port.Width))
	}
	x.g = newNormal(e, s, a.AgentCount(), batch, a.Output().Width)
	noError(t, e)
	return x
}

func (x subject) forward() []float64 { return values(x.net.Forward(x.work, x.in...)) }

// near wants every number within tol times the largest of want (or of 1e-3, for gradients that are nearly zero).
func near(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := 1e-3
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*scale) {
			t.Fatalf("%s: value %d is %g, want %g within %g", what, i, got[i], want[i], tol*scale)
		}
	}
}

// archs are networks of every kind, with odd sizes.
func archs() map[string]nets.Arch { return netstest.Archs() }

// onBackends runs a test on every backend of this machine, with a tolerance for its number format: float64 and float32
// in plain Go, and tiles with each family of kernels.
func onBackends(t *testing.T, test func(t *testing.T, o native.Options, tol float64)) {
	t.Run("float64", func(t *testing.T) { test(t, native.Options{DType: nets.Float64}, 1e-12) })
	for _, kernels := range append(families(t), native.Go) {
		t.Run(kernels, func(t *testing.T) { test(t, native.Options{Kernels: kernels}, 2e-5) })
	}
}

// debug is the options with the debug mode on.
func debug(o native.Options) native.Options {
	o.Debug = true
	return o
}
