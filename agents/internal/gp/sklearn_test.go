package gp

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// vectors is a case of testdata/sklearn.json.
type vectors struct {
	Name                  string     `json:"name"`
	Kernel                Kernel     `json:"kernel"`
	Each                  bool       `json:"each"`
	Signal, Length, Noise [3]float64 // start, low, high
	X, Y, Test            []float64
	StartLikelihood       float64   `json:"start_likelihood"`
	StartGradient         []float64 `json:"start_gradient"`
	FittedSignal          float64   `json:"fitted_signal"`
	FittedLength          []float64 `json:"fitted_length"`
	FittedNoise           float64   `json:"fitted_noise"`
	FittedLikelihood      float64   `json:"fitted_likelihood"`
	Mean, SD, Covariance  []float64
	Best                  float64
	EI                    []float64
	LeaveOneOut           [][2]float64 `json:"leave_one_out"`
}

func load(t testing.TB, file string, into any) {
	t.Helper()
	b := must.Get(os.ReadFile("testdata/" + file))(t)
	must.Do(t, json.Unmarshal(b, into))
}

func (v *vectors) model(t testing.TB) *Model {
	t.Helper()
	p := func(x [3]float64) Parameter { return Range(x[0], x[1], x[2]) }
	m := must.Get(New(Config{Kernel: v.Kernel, Each: v.Each, Signal: p(v.Signal), Length: p(v.Length), Noise: p(v.Noise)},
		len(v.X)/len(v.Y)))(t)
	return m
}

// near fails unless got is want within tolerance, relative where want is above 1.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s is %.10g, want %.10g", what, got, want)
	}
}

// Likelihood, its gradient, fitted scales, posterior, covariances, EI and leave-one-out predictions are scikit-learn's.
func TestScikitLearn(t *testing.T) {
	var all struct{ Cases []vectors }
	load(t, "sklearn.json", &all)
	if len(all.Cases) < 4 {
		t.Fatalf("%d cases", len(all.Cases))
	}
	for _, v := range all.Cases {
		t.Run(v.Name, func(t *testing.T) {
			m := v.model(t)
			d := len(v.X) / len(v.Y)
			must.Do(t, m.load(v.X, v.Y))
			start, _ := m.free()
			gradient := make([]float64, len(start))
			near(t, "the likelihood at the start", -m.loss(start, gradient), v.StartLikelihood, 1e-9)
			if len(gradient) != len(v.StartGradient) {
				t.Fatalf("%d parameters are fitted, want %d", len(gradient), len(v.StartGradient))
			}
			for i, g := range gradient {
				near(t, "a slope of the likelihood", -g, v.StartGradient[i], 1e-7)
			}
			must.Do(t, m.Fit(v.X, v.Y, rng.NewStream(1, "fit")))
			p := m.Params()
			near(t, "the fitted likelihood", m.Likelihood(), v.FittedLikelihood, 1e-9)
			near(t, "log signal", math.Log(p.Signal), math.Log(v.FittedSignal), 1e-6)
			near(t, "log noise", math.Log(p.Noise), math.Log(v.FittedNoise), 1e-6)
			for i, l := range p.Length {
				near(t, "log length", math.Log(l), math.Log(v.FittedLength[i]), 1e-6)
			}
			q := m.Query()
			for i := range v.Mean {
				q.At(v.Test[i*d : (i+1)*d])
				near(t, "mean", q.Mean, v.Mean[i], 1e-6)
				near(t, "sd", q.SD, v.SD[i], 1e-6)
				ei, _, _ := Expected(q.Mean, q.SD, v.Best)
				near(t, "EI", ei, v.EI[i], 1e-6)
			}
			_, covariance := m.Joint(v.Test)
			for i, c := range covariance {
				near(t, "covariance", c, v.Covariance[i], 1e-6)
			}
			residual, sd := m.LeaveOneOut()
			for i, l := range v.LeaveOneOut {
				near(t, "leave-one-out mean", v.Y[i]-residual[i], l[0], 1e-6)
				near(t, "leave-one-out sd", sd[i], l[1], 1e-6)
			}
		})
	}
}

// The unscrambled points are SciPy's, in all 512 dimensions.
func TestSobolIsSciPys(t *testing.T) {
	var want struct {
		Points, Dimensions int
		Sums               []float64
		Column             map[int][]float64
	}
	load(t, "sobol.json", &want)
	if d := SobolDimensions(); d != want.Dimensions {
		t.Fatalf("%d dimensions, want %d", d, want.Dimensions)
	}
	got := Sobol(want.Points, want.Dimensions)
	for i, sum := range want.Sums {
		var s float64
		for j := range want.Dimensions {
			s += got[i*want.Dimensions+j] * float64(j+1)
		}
		near(t, "a point's sum", s, sum, 1e-12)
	}
	for j, column := range want.Column {
		for i, x := range column {
			if got[i*want.Dimensions+j] != x {
				t.Errorf("point %d, dimension %d is %g, want %g", i, j, got[i*want.Dimensions+j], x)
			}
		}
	}
}
