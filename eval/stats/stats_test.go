package stats

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s is %g, want %g ± %g", what, got, want, tol)
	}
}

// The vectors of rliable's own tests (tests/rliable/metrics_test.py).
func TestRliableVectors(t *testing.T) {
	x := Scores{{1, 2}, {2, 2}, {1, 1}, {2, 1}}
	y := Scores{{1, 1}, {2, 2}, {3, 3}}
	near(t, "IQM of x", IQM(x.Flat()), 1.5, 0)
	near(t, "mean of x", Mean(x.Flat()), 1.5, 0)
	near(t, "IQM of y", IQM(y.Flat()), 2, 0)
	near(t, "P(x > y)", pairedImprovement(x, y), 1.0/3, 1e-15)
}

// With 8 values two are cut from each end, as by scipy's trim_mean with 0.25; with 3 none is.
func TestIQMCuts(t *testing.T) {
	near(t, "IQM of 8", IQM([]float64{100, 1, 2, 3, 4, 5, 6, -50}), 3.5, 0)
	near(t, "IQM of 3", IQM([]float64{1, 2, 9}), 4, 0)
	if !math.IsNaN(IQM(nil)) {
		t.Error("IQM of nothing is a number")
	}
}

// Holm's own procedure on a worked example: 0.01·4, 0.02·3, 0.03·2, 0.04·1, never falling.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, 0.03, 0.02})
	for i, want := range []float64{0.06, 0.04, 0.06, 0.06} {
		near(t, fmt.Sprintf("p %d", i), got[i], want, 1e-15)
	}
}

// All 2³ sign patterns of 1, 2, 4: only the observed one and its mirror reach the sum 7.
func TestSignFlipExact(t *testing.T) {
	near(t, "p", signFlip([]float64{1, 2, 4}, 1000, nil), 2.0/8, 0)
	near(t, "p of zeros", signFlip([]float64{0, 0, 0}, 1000, nil), 1, 0)
}

// A difference that every workload shows is decided, although workloads differ by far more. An unpaired interval would
// be too wide.
func TestPairingDecides(t *testing.T) {
	s := rng.NewStream(1, "test")
	a, b, c := make([]float64, 20), make([]float64, 20), make([]float64, 20)
	for j := range a {
		w := 100 * s.Norm()
		a[j], b[j], c[j] = w+0.1*s.Norm(), w+1+0.1*s.Norm(), w+0.1*s.Norm()
	}
	got := Compare(Scores{a}, []Scores{{b}, {c}}, envs.Bounds{}, 2000, rng.New(1, "compare"))
	if !got[0].Decided() || got[0].Difference.High > -0.8 || got[0].Difference.Low < -1.2 {
		t.Errorf("a against b, 1 below: %+v", got[0])
	}
	if got[1].Decided() {
		t.Errorf("a against its equal: %+v", got[1])
	}
	if unpaired := IQMInterval(Scores{a}, envs.Bounds{}, 2000, rng.NewStream(1, "iqm")); unpaired.High-unpaired.Low < 10 {
		t.Errorf("the unpaired interval %+v is too narrow for workloads that differ by 100", unpaired)
	}
}

// The 95 % interval of the IQM of 40 normal values covers 0 in about 95 of 100 samples. 400 samples: the standard
// error of the coverage is 1.1 points; percentile intervals of 40 values are known to fall short by a point or two.
func TestCoverage(t *testing.T) {
	s := rng.NewStream(2, "coverage")
	const trials = 400
	hit := 0
	for i := range trials {
		row := make([]float64, 40)
		for j := range row {
			row[j] = s.Norm()
		}
		if iv := IQMInterval(Scores{row}, envs.Bounds{}, 400, rng.New(3, "boot").With(uint64(i)).Stream()); iv.Low <= 0 && 0 <= iv.High {
			hit++
		}
	}
	if c := float64(hit) / trials; c < 0.90 || c > 0.985 {
		t.Errorf("coverage is %.3f", c)
	}
}

// Under no difference p is uniform: 5 % of 400 comparisons fall under 0.05, within four standard errors.
func TestNullP(t *testing.T) {
	s := rng.NewStream(4, "null")
	const trials = 400
	low := 0
	for i := range trials {
		a, b := make([]float64, 12), make([]float64, 12)
		for j := range a {
			a[j], b[j] = s.Exp(), s.Exp()
		}
		if Compare(Scores{a}, []Scores{{b}}, envs.Bounds{}, 300, rng.New(5, "null").With(uint64(i)))[0].P < 0.05 {
			low++
		}
	}
	if r := float64(low) / trials; r > 0.05+4*math.Sqrt(0.05*0.95/trials) || r < 0.05-4*math.Sqrt(0.05*0.95/trials) {
		t.Errorf("%.3f of null comparisons have p < 0.05", r)
	}
}

func TestHierarchical(t *testing.T) {
	// Two training seeds far apart: the interval must span both, although workloads agree.
	s := Scores{{1, 1, 1, 1}, {5, 5, 5, 5}}
	iv := IQMInterval(s, envs.Bounds{}, 1000, rng.NewStream(6, "two"))
	if iv.Low > 1 || iv.High < 5 {
		t.Errorf("interval %+v hides that training seeds differ", iv)
	}
	if err := s.Check(3); err == nil {
		t.Error("wrong width accepted")
	}
}

func TestProfile(t *testing.T) {
	got := Profile([]float64{1, 2, 3, 4}, []float64{0, 2, 4})
	for i, want := range []float64{1, 0.5, 0} {
		near(t, "profile", got[i], want, 0)
	}
}
