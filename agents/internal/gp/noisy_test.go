package gp

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// limit is that of the constraint of two.
const limit = 0.1

// two returns an objective and a constraint over noisy rows of two inputs, about half of them feasible.
func two(t testing.TB, rows int, noise float64) (objective, constraint *Model, x []float64) {
	t.Helper()
	s := rng.NewStream(3, "rows")
	f, g := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		a, b := s.Float64(), s.Float64()
		x = append(x, a, b)
		f[i] = math.Sin(3*a) + b + math.Sqrt(noise)*s.Norm()
		g[i] = a + b - 1 + math.Sqrt(noise)*s.Norm()
	}
	c := Config{Kernel: Matern52, Each: true, Signal: Fixed(1), Length: Fixed(0.6), Noise: Fixed(noise)}
	var models [2]*Model
	for k, y := range [][]float64{f, g} {
		m := must.Get(New(c, 2))(t)
		must.Do(t, m.Fit(x, y, nil))
		models[k] = m
	}
	return models[0], models[1], x
}

// Noisy EI agrees with a million plain draws from the joint posterior of objective and constraint at the rows and the
// candidate, in which nothing is integrated in closed form. 400 scrambles of 32 Sobol points give its own error.
func TestNoisyEIAgreesWithPlainDraws(t *testing.T) {
	const rows, plain, scrambles = 8, 250_000, 200
	candidates := []float64{0.45, 0.4, 0.2, 0.9, 0.1, 0.2}
	c := len(candidates) / 2
	for _, noise := range []float64{0.1, 0.01} {
		f, g, x := two(t, rows, noise)
		n := rows + c
		var mean, lower, draw [2][]float64
		for k, m := range []*Model{f, g} {
			mean[k], lower[k] = m.Joint(append(append([]float64(nil), x...), candidates...))
			must.Do(t, Factor(lower[k], n))
			draw[k] = make([]float64, n)
		}
		// Plain draws: the mean over them of max(0, f − best) where g is at most its limit.
		sums, squares := make([]float64, c), make([]float64, c)
		s := rand.New(rand.NewPCG(1, 2))
		for range plain {
			for k, v := range draw {
				for i := range v {
					v[i] = s.NormFloat64()
				}
				blas64.Trmv(blas.NoTrans, triangular(lower[k], n), vector(v))
				for i := range v {
					v[i] += mean[k][i]
				}
			}
			best, least := math.Inf(-1), math.Inf(1)
			for i, v := range draw[0][:rows] {
				least = min(least, v)
				if draw[1][i] <= limit {
					best = max(best, v)
				}
			}
			if math.IsInf(best, -1) {
				best = least
			}
			for i := range c {
				if gain := draw[0][rows+i] - best; gain > 0 && draw[1][rows+i] <= limit {
					sums[i] += gain / plain
					squares[i] += gain * gain / plain
				}
			}
		}
		own, ownSquares := make([]float64, c), make([]float64, c)
		for k := range scrambles {
			a := must.Get(NewNoisyEI(f, []Constraint{{g, limit}}, 32, rng.NewStream(uint64(k), "noisy")))(t)
			for i := range c {
				v := a.At(candidates[2*i:2*i+2], nil)
				own[i] += v / scrambles
				ownSquares[i] += v * v / scrambles
			}
		}
		for i, want := range sums {
			se := math.Sqrt((squares[i]-want*want)/plain + (ownSquares[i]-own[i]*own[i])/(scrambles-1))
			t.Logf("noise %g, candidate %d: %.6f, plain %.6f, standard error %.6f", noise, i, own[i], want, se)
			if math.Abs(own[i]-want) > 4*se || want <= 0 { // six comparisons: p = 0.0004
				t.Errorf("noise %g, candidate %d: noisy EI is %g, plain draws give %g ± %g", noise, i, own[i], want, se)
			}
		}
	}
}

// Without noise noisy EI is EI times the probability of feasibility.
func TestNoisyEIWithoutNoise(t *testing.T) {
	f, g, _ := two(t, 12, 0)
	a := must.Get(NewNoisyEI(f, []Constraint{{g, limit}}, 4, rng.NewStream(1, "noisy")))(t)
	best := math.Inf(-1)
	for i, v := range f.y {
		if g.y[i] <= limit {
			best = max(best, v)
		}
	}
	qf, qg := f.Query(), g.Query()
	for _, x := range [][]float64{{0.3, 0.3}, {0.9, 0.05}, {0.5, 0.5}} {
		qf.At(x)
		qg.At(x)
		ei, _, _ := Expected(qf.Mean, qf.SD, best)
		ok, _, _ := Feasible(qg.Mean-limit, qg.SD)
		near(t, "noisy EI", a.At(x, nil), ei*ok, 1e-9)
	}
	if v := a.At(f.x[:2], nil); v > 1e-12 {
		t.Errorf("a row that was observed promises %g, want nothing", v)
	}
	if a.Draws() != 4 {
		t.Errorf("%d draws have a feasible row, want all 4", a.Draws())
	}
}

// The gradients are those of the values, by central differences.
func TestGradients(t *testing.T) {
	f, g, _ := two(t, 12, 0.05)
	a := must.Get(NewNoisyEI(f, []Constraint{{g, limit}}, 16, rng.NewStream(1, "noisy")))(t)
	qf, qg := f.Query(), g.Query()
	front, reference := []Pair{{0.2, 0.6}, {0.5, 0.3}, {0.9, 0.1}}, Pair{-0.5, -0.4}
	for name, value := range map[string]Acquisition{
		"noisy EI": a.At,
		"EI": func(x, g []float64) float64 {
			qf.At(x)
			v, m, s := Expected(qf.Mean, qf.SD, 1)
			if g != nil {
				qf.Gradient(m, s, g)
			}
			return v
		},
		"feasibility": func(x, g []float64) float64 {
			qg.At(x)
			v, m, s := Feasible(qg.Mean, qg.SD)
			if g != nil {
				qg.Gradient(m, s, g)
			}
			return v
		},
		"hypervolume": func(x, g []float64) float64 {
			qf.At(x)
			qg.At(x)
			v, by := Hypervolume(front, reference, Normal{qf.Mean, qf.SD}, Normal{qg.Mean, qg.SD})
			if g != nil {
				qf.Gradient(by[0][0], by[0][1], g)
				qg.Gradient(by[1][0], by[1][1], g)
			}
			return v
		},
	} {
		for _, x := range [][]float64{{0.31, 0.42}, {0.8, 0.1}, {0.05, 0.95}} {
			got := make([]float64, 2)
			value(x, got)
			for j := range x {
				const h = 1e-5
				up, down := append([]float64(nil), x...), append([]float64(nil), x...)
				up[j] += h
				down[j] -= h
				near(t, name+"'s slope", got[j], (value(up, nil)-value(down, nil))/(2*h), 1e-6)
			}
		}
	}
}

// A point is asked about without allocating.
func TestNoAllocation(t *testing.T) {
	f, g, _ := two(t, 12, 0.05)
	a := must.Get(NewNoisyEI(f, []Constraint{{g, limit}}, 16, rng.NewStream(1, "noisy")))(t)
	q, x, slope := f.Query(), []float64{0.2, 0.3}, make([]float64, 2)
	if n := testing.AllocsPerRun(10, func() {
		q.At(x)
		q.Gradient(1, 1, slope)
		a.At(x, slope)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
