package gorgonia

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
)

// adamSubject has two groups with one weight and one bias each.
func adamSubject(t testing.TB, d nets.DType, c nets.Adam) (nets.Engine, nets.Net, nets.Optimizer) {
	t.Helper()
	e := newTest(t, d)
	n := must.Get(e.NewNet(nets.MLP{Agents: 2, In: []nets.Port{{Name: "x", Width: 1}}, Out: 1, Activation: nets.ReLU}))(t)
	o := must.Get(e.NewAdam(n, c))(t)
	return e, n, o
}

// With a constant gradient the corrected moments are g and g² at every step, so that p falls by rate·g/(|g| +
// ε) each time.
func TestAdamClosedForm(t *testing.T) {
	e, n, o := adamSubject(t, nets.Float64, nets.Adam{Rate: 0.02, Beta1: 0.8, Beta2: 0.95, Epsilon: 0.1})
	g := []float64{0.5, -2, 0.001, 0}
	n.Grads().Set64(g)
	want := make([]float64, 4)
	o.SetRate(0.01)
	for range 50 {
		o.Advance()
		o.Step()
		for i := range g {
			want[i] -= 0.01 * g[i] / (math.Abs(g[i]) + 0.1)
		}
		near(t, "parameters", values(n.Params()), want, 1e-12)
	}
	noError(t, e)
	if o.Steps() != 50 {
		t.Errorf("%d steps, want 50", o.Steps())
	}
}

// Each group is clipped by its own norm; norms are those before clipping, and gradients stay as they are. A
// NaN norm makes only its own group NaN.
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
	n.Grads().Set64([]float64{math.NaN(), 1, 0.3, 0.4})
	o.Advance()
	o.Step()
	noError(t, e)
	p := values(n.Params())
	if !math.IsNaN(p[0]) || !math.IsNaN(p[1]) || math.IsNaN(p[2]) || math.IsNaN(p[3]) {
		t.Errorf("after a NaN gradient in group 0 the parameters are %v", p)
	}
}

// An optimiser with restored moments and steps continues bit for bit.
func TestAdamResumes(t *testing.T) {
	_, n, o := adamSubject(t, nets.Float32, nets.Adam{Rate: 0.1})
	e, n2, o2 := adamSubject(t, nets.Float32, nets.Adam{Rate: 0.1})
	step := func(n nets.Net, o nets.Optimizer, i int) {
		n.Grads().Set64([]float64{math.Sin(float64(i)), 0.1, -3, 1e-6})
		o.Advance()
		o.Step()
	}
	for i := range 5 {
		step(n, o, i)
	}
	e.Copy(n2.Params(), of(e, values(n.Params()), 2, 2))
	m, v := o.Moments()
	m2, v2 := o2.Moments()
	m2.Set64(values(m))
	v2.Set64(values(v))
	o2.SetSteps(o.Steps())
	for i := range 5 {
		step(n, o, i)
		step(n2, o2, i)
		near(t, "resumed parameters", values(n2.Params()), values(n.Params()), 0)
	}
	noError(t, e)
}
