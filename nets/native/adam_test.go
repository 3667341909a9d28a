package native_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// adamSubject is an optimiser of two groups with one weight and one bias each.
func adamSubject(t testing.TB, d nets.DType, c nets.Adam) (nets.Engine, nets.Net, nets.Optimizer) {
	e := native.New(native.Options{DType: d})
	n := mustNet(t, e, nets.MLP{Agents: 2, In: []nets.Port{{Name: "x", Width: 1}}, Out: 1, Activation: nets.ReLU})
	o := must.Get(e.NewAdam(n, c))(t)
	return e, n, o
}

// Three steps calculated from the equations by hand (in decimal): p = 1, gradients 0.1, −0.2, 0.3, rate 0.1.
//
//	t  m         v              m/(1−0.9ᵗ)       v/(1−0.999ᵗ)     p
//	1  0.01      0.00001        0.1              0.01             1 − 0.1·0.1/(0.1 + 1e-8)
//	2  −0.011    0.00004999    −0.0578947368421  0.0250075037519  … + 0.1·0.0578947368421/(0.158137610175 + 1e-8)
//	3  0.0201    0.00013994001  0.0741697416974  0.0466933477833  … − 0.1·0.0741697416974/(0.2160864359078 + 1e-8)
func TestAdamByHand(t *testing.T) {
	e, n, o := adamSubject(t, nets.Float64, nets.Adam{Rate: 0.1})
	p := []float64{1, 1, 1, 1}
	n.Params().Set64(p)
	for i, c := range []struct{ g, m, v, p float64 }{
		{0.1, 0.01, 0.00001, 0.9000000100000},
		{-0.2, -0.011, 0.00004999, 0.9366103603885},
		{0.3, 0.0201, 0.00013994001, 0.9022862539477},
	} {
		n.Grads().Set64([]float64{c.g, c.g, c.g, c.g})
		o.Advance()
		o.Step()
		noError(t, e)
		m, v := o.Moments()
		for j := range 4 {
			near(t, "parameter", values(n.Params())[j:j+1], []float64{c.p}, 1e-11)
			near(t, "first moment", values(m)[j:j+1], []float64{c.m}, 1e-13)
			if got := values(v)[j]; math.Abs(got-c.v) > 1e-18 {
				t.Fatalf("second moment is %g, want %g", got, c.v)
			}
		}
		if o.Steps() != int64(i+1) {
			t.Errorf("%d steps, want %d", o.Steps(), i+1)
		}
	}
}

// With a constant gradient the corrected moments are g and g² at every step, so that p falls by rate·g/(|g| +
// ε) each time.
func TestAdamClosedForm(t *testing.T) {
	e, n, o := adamSubject(t, nets.Float64, nets.Adam{Rate: 0.01, Beta1: 0.8, Beta2: 0.95, Epsilon: 0.1})
	g := []float64{0.5, -2, 0.001, 0}
	n.Grads().Set64(g)
	want := make([]float64, 4)
	for range 50 {
		o.Advance()
		o.Step()
		for i := range g {
			want[i] -= 0.01 * g[i] / (math.Abs(g[i]) + 0.1)
		}
		near(t, "parameters", values(n.Params()), want, 1e-12)
	}
	noError(t, e)
}

// Each group is clipped by its own norm; norms are those before clipping, and gradients stay as they are.
func TestAdamClip(t *testing.T) {
	e, n, o := adamSubject(t, nets.Float64, nets.Adam{Rate: 1, Clip: 1})
	g := []float64{3, 4, 0.3, 0.4}
	n.Grads().Set64(g)
	o.Advance()
	o.Step()
	near(t, "norms", values(o.Norms()), []float64{5, 0.5}, 1e-15)
	near(t, "gradients", values(n.Grads()), g, 0)
	m, _ := o.Moments()
	c := 1 / (5 + 1e-6)
	near(t, "first moment of the clipped", values(m), []float64{0.1 * 3 * c, 0.1 * 4 * c, 0.03, 0.04}, 1e-14)
	noError(t, e)

	n.Grads().Set64([]float64{math.NaN(), 1, 0.3, 0.4})
	o.Advance()
	o.Step()
	p := values(n.Params())
	if !math.IsNaN(p[0]) || !math.IsNaN(p[1]) || math.IsNaN(p[2]) || math.IsNaN(p[3]) {
		t.Errorf("after a NaN gradient in group 0 the parameters are %v", p)
	}
}

// Norms are right even if their squares overflow or underflow float32.
func TestAdamNormRange(t *testing.T) {
	e, n, o := adamSubject(t, nets.Float32, nets.Adam{Rate: 1, Clip: 1})
	n.Grads().Set([]float32{3e30, 4e30, 3e-30, 4e-30})
	o.Advance()
	o.Step()
	noError(t, e)
	near(t, "large norm", values(o.Norms())[:1], []float64{5e30}, 1e-6)
	if small := values(o.Norms())[1]; math.Abs(small-5e-30) > 1e-36 {
		t.Errorf("small norm is %g, want 5e-30", small)
	}
}

// An optimiser with restored moments and steps continues bit for bit.
func TestAdamResumes(t *testing.T) {
	e, n, o := adamSubject(t, nets.Float32, nets.Adam{Rate: 0.1, Clip: 0.5})
	e2, n2, o2 := adamSubject(t, nets.Float32, nets.Adam{Rate: 0.1, Clip: 0.5})
	s := rng.NewStream(1, "gradients")
	step := func(g []float64, n nets.Net, o nets.Optimizer) {
		n.Grads().Set64(g)
		o.Advance()
		o.Step()
	}
	for range 5 {
		step(normal(s, 4), n, o)
	}
	n2.Params().Set64(values(n.Params()))
	m, v := o.Moments()
	m2, v2 := o2.Moments()
	m2.Set64(values(m))
	v2.Set64(values(v))
	o2.SetSteps(o.Steps())
	for range 5 {
		g := normal(s, 4)
		o.SetRate(0.05)
		o2.SetRate(0.05)
		step(g, n, o)
		step(g, n2, o2)
		near(t, "resumed parameters", values(n2.Params()), values(n.Params()), 0)
	}
	noError(t, e)
	noError(t, e2)
}
