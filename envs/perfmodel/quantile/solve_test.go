package quantile_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/quantile"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// HiGHS' optima (testdata/highs.py), with ties, long tails, columns of unlike size, and a problem without noise.
func TestHiGHS(t *testing.T) {
	b := must.Get(os.ReadFile("testdata/problems.json"))(t)
	var problems []struct {
		Kind    string
		Level   float64
		Columns int
		X, Y    []float64
		Loss    float64
	}
	must.Do(t, json.Unmarshal(b, &problems))
	for _, p := range problems {
		s, err := quantile.Solve(p.X, p.Columns, p.Y, p.Level)
		if err != nil {
			t.Fatalf("%s at %g: %v", p.Kind, p.Level, err)
		}
		var size float64
		for _, y := range p.Y {
			size += math.Abs(y)
		}
		unit := max(p.Loss, 1e-3*size)
		t.Logf("%-7s %.1f: loss %.9f, HiGHS %.9f, gap %.1e of it", p.Kind, p.Level, s.Loss, p.Loss, s.Gap/unit)
		if math.Abs(s.Loss-p.Loss) > 1e-9*unit {
			t.Errorf("%s at %g: loss %.12g, HiGHS has %.12g", p.Kind, p.Level, s.Loss, p.Loss)
		}
		if !(s.Gap >= -1e-12*unit && s.Gap <= 1e-9*unit) {
			t.Errorf("%s at %g: gap %g of the loss, want at most 1e-9", p.Kind, p.Level, s.Gap/unit)
		}
		if l := loss(p.X, p.Columns, p.Y, s.Coefficients, p.Level); math.Abs(l-s.Loss) > 1e-9*unit {
			t.Errorf("%s at %g: the coefficients' loss is %.12g, reported %.12g", p.Kind, p.Level, l, s.Loss)
		}
	}
}

// With a constant alone the solution is the sample's quantile.
func TestConstant(t *testing.T) {
	s := rng.NewStream(1, "test/constant")
	y := make([]float64, 101)
	ones := make([]float64, len(y))
	for i := range y {
		y[i], ones[i] = s.Exp(), 1
	}
	sorted := slices.Clone(y)
	slices.Sort(sorted)
	for _, level := range []float64{0.05, 0.25, 0.5, 0.9, 0.99} {
		got := must.Get(quantile.Solve(ones, 1, y, level))(t)
		want := sorted[int(math.Ceil(level*101))-1]
		if math.Abs(got.Coefficients[0]-want) > 1e-7 {
			t.Errorf("level %g: %.9f, want the sample's quantile %.9f", level, got.Coefficients[0], want)
		}
	}
}

// A column that others make is left out, and changes no prediction.
func TestDependent(t *testing.T) {
	s := rng.NewStream(2, "test/dependent")
	var x, wide, y []float64
	for range 50 {
		v := s.Norm()
		x = append(x, 1, v)
		wide = append(wide, 1, v, 0, 2*v-3, v)
		y = append(y, v+s.Norm())
	}
	a := must.Get(quantile.Solve(x, 2, y, 0.8))(t)
	b := must.Get(quantile.Solve(wide, 5, y, 0.8))(t)
	if math.Abs(a.Loss-b.Loss) > 1e-9*a.Loss {
		t.Errorf("loss %.12g with dependent columns, %.12g without", b.Loss, a.Loss)
	}
	if c := b.Coefficients; c[2] != 0 || c[3] != 0 || c[4] != 0 {
		t.Errorf("dependent columns have coefficients %v, want 0", c[2:])
	}
}

func TestWrong(t *testing.T) {
	one := []float64{1, 1, 1}
	none, endless := []float64{1, math.NaN(), 1}, []float64{1, 1, math.Inf(1)}
	for want, f := range map[string]func() (*quantile.Solution, error){
		"level 1":         func() (*quantile.Solution, error) { return quantile.Solve(one, 1, one, 1) },
		"2 numbers":       func() (*quantile.Solution, error) { return quantile.Solve(one[:2], 1, one, 0.5) },
		"too few":         func() (*quantile.Solution, error) { return quantile.Solve(one, 3, one[:1], 0.5) },
		"row 1, column 0": func() (*quantile.Solution, error) { return quantile.Solve(none, 1, one, 0.5) },
		"y of row 2":      func() (*quantile.Solution, error) { return quantile.Solve(one, 1, endless, 0.5) },
		"are zero":        func() (*quantile.Solution, error) { return quantile.Solve(make([]float64, 3), 1, one, 0.5) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func BenchmarkSolve(b *testing.B) {
	s := rng.NewStream(2, "bench/solve")
	const n, k = 2000, 15
	x, y := make([]float64, n*k), make([]float64, n)
	for i := range y {
		x[i*k] = 1
		for j := 1; j < k; j++ {
			x[i*k+j] = s.Norm()
			y[i] += x[i*k+j]
		}
		y[i] += s.Exp()
	}
	for b.Loop() {
		must.Get(quantile.Solve(x, k, y, 0.9))(b)
	}
}

// loss returns Σ ρ(y − Xβ).
func loss(x []float64, columns int, y, coefficients []float64, level float64) float64 {
	var sum float64
	for i, r := range y {
		for j, v := range x[i*columns : (i+1)*columns] {
			r -= v * coefficients[j]
		}
		sum += max(level*r, (level-1)*r)
	}
	return sum
}
