package gp

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// EI, feasibility and hypervolume improvement are the means over plain draws.
func TestAcquisitionsAreMeans(t *testing.T) {
	const draws = 200_000
	u, v := Normal{0.4, 0.5}, Normal{0.1, 0.8}
	front, reference := []Pair{{0.2, 0.6}, {0.5, 0.3}, {0.9, -0.2}}, Pair{-0.5, -0.6}
	var sums, squares [3]float64
	s := rng.NewStream(1, "draws")
	for range draws {
		a, b := u.Mean+u.SD*s.Norm(), v.Mean+v.SD*s.Norm()
		for k, x := range [3]float64{max(0, a-0.7), map[bool]float64{true: 1}[b <= 0], gain(front, reference, Pair{a, b})} {
			sums[k] += x / draws
			squares[k] += x * x / draws
		}
	}
	ei, _, _ := Expected(u.Mean, u.SD, 0.7)
	ok, _, _ := Feasible(v.Mean, v.SD)
	area, _ := Hypervolume(front, reference, u, v)
	for k, want := range [3]float64{ei, ok, area} {
		if se := math.Sqrt((squares[k] - sums[k]*sums[k]) / draws); math.Abs(sums[k]-want) > 4*se {
			t.Errorf("acquisition %d is %g, %d draws give %g ± %g", k, want, draws, sums[k], se)
		}
	}
}

// gain is the area that p adds between a front and a reference, strip by strip.
func gain(front []Pair, reference, p Pair) float64 {
	area := func(f []Pair) (sum float64) {
		left := reference[0]
		for _, q := range f {
			sum += (q[0] - left) * (q[1] - reference[1])
			left = q[0]
		}
		return sum
	}
	return area(Front(append([]Pair{p}, front...), reference)) - area(front)
}

func TestFront(t *testing.T) {
	got := Front([]Pair{{1, 1}, {0, 2}, {0.5, 0.5}, {1, 1}, {2, -1}, {3, -9}, {0, 1.5}}, Pair{-1, -2})
	want := []Pair{{0, 2}, {1, 1}, {2, -1}}
	if len(got) != len(want) {
		t.Fatalf("the front is %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("the front is %v, want %v", got, want)
		}
	}
	if len(Front([]Pair{{-1, 5}}, Pair{-1, 0})) != 0 {
		t.Error("a pair on the reference is in the front")
	}
}

// What cannot be conditioned says what and where.
func TestErrors(t *testing.T) {
	exact := Config{Kernel: Matern52, Signal: Fixed(1), Length: Fixed(1), Noise: Fixed(0)}
	m := must.Get(New(exact, 2))(t)
	rbf := exact
	rbf.Kernel, rbf.Length = RBF, Fixed(1e9)
	smooth := must.Get(New(rbf, 2))(t)
	fitted := exact
	fitted.Length = Range(1, 0.1, 10)
	free := must.Get(New(fitted, 2))(t)
	for want, err := range map[string]error{
		"1 output or more":                 m.Fit([]float64{1}, nil, nil),
		"input 1 of row 0 is NaN":          m.Fit([]float64{1, math.NaN()}, []float64{1}, nil),
		"output of row 1 is +Inf":          m.Fit([]float64{1, 2, 3, 4}, []float64{1, math.Inf(1)}, nil),
		"1 length scales, want 2":          m.Set([]float64{1, 2}, []float64{1}, Params{Signal: 1, Length: []float64{1}}),
		"want finite numbers above 0":      m.Set([]float64{1, 2}, []float64{1}, Params{Length: []float64{1, 1}}),
		`kernel is "cubic"`:                (&Config{Kernel: "cubic"}).Validate(),
		"restarts is -1":                   (&Config{Kernel: RBF, Restarts: -1}).Validate(),
		"signal starts at 0":               (&Config{Kernel: RBF}).Validate(),
		"length starts at 2 within 0.1 to": (&Config{Kernel: RBF, Signal: Fixed(1), Length: Range(2, 0.1, 1)}).Validate(),
		"length has a gamma prior of shape": (&Config{Kernel: RBF, Signal: Fixed(1),
			Length: Fixed(1).With(Gamma{Shape: 1})}).Validate(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	for want, err := range map[string]error{
		"rows 1 and 3 have the same inputs, and the noise is 0 of": m.Fit([]float64{0, 0, 1, 2, 3, 3, 1, 2},
			[]float64{0, 1, 2, 3}, nil),
		"rows 0 and 1 have the same inputs": free.Fit([]float64{1, 2, 1, 2}, []float64{0, 1}, rng.NewStream(1, "fit")),
		"length scales apart": m.Set([]float64{1, 2, 3, 4, 5, 6}, []float64{0, 1, 2}, Params{Signal: 1e308, Noise: 1e308,
			Length: []float64{1, 1}}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "singular") {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	// Two hundred rows that differ by less than rounding are served with jitter.
	many := make([]float64, 0, 400)
	for i := range 200 {
		many = append(many, float64(i), 0.5)
	}
	if err := smooth.Fit(many, make([]float64, 200), nil); err != nil || smooth.Jitter() == 0 {
		t.Errorf("near rows: %v, jitter %g", err, smooth.Jitter())
	}
}

// Each dimension of scrambled points has one in each of n equal intervals, scrambles differ, and pairs of dimensions
// fill the square: what plain draws do not.
func TestScrambled(t *testing.T) {
	const n, d = 64, 20
	a, b := Scrambled(n, d, rng.NewStream(1, "a")), Scrambled(n, d, rng.NewStream(2, "a"))
	for j := range d {
		var seen [n]bool
		for i := range n {
			seen[int(a[i*d+j]*n)] = true
			if a[i*d+j] == b[i*d+j] {
				t.Errorf("point %d, dimension %d is the same in two scrambles", i, j)
			}
		}
		for k, s := range seen {
			if !s {
				t.Errorf("dimension %d has no point in interval %d of %d", j, k, n)
			}
		}
	}
	// The first two dimensions are a (0, 6, 2)-net: each 8×8 cell has a point.
	var cells [64]bool
	for i := range n {
		cells[int(a[i*d]*8)*8+int(a[i*d+1]*8)] = true
	}
	for k, s := range cells {
		if !s {
			t.Errorf("cell %d has no point", k)
		}
	}
	for _, x := range Scrambled(8, SobolDimensions()+3, rng.NewStream(1, "wide")) {
		if !(x > 0 && x < 1) {
			t.Fatalf("a point has %g, want inside (0, 1)", x)
		}
	}
}

// Rosenbrock's valley in a box: free, and with its optimum cut off by the box, where the solution is known.
func TestMinimizer(t *testing.T) {
	rosenbrock := func(x, g []float64) float64 {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		g[0], g[1] = -2*a-400*x[0]*b, 200*b
		return a*a + 100*b*b
	}
	for _, c := range []struct{ high, x, y float64 }{{3, 1, 1}, {0.5, 0.5, 0.25}} {
		z := newMinimizer(rosenbrock, Box{[]float64{-2, -2}, []float64{c.high, 3}}, 1e-10, 500)
		best, value := z.run([]float64{-1.2, 1})
		if math.Abs(best[0]-c.x) > 1e-7 || math.Abs(best[1]-c.y) > 1e-7 {
			t.Errorf("x at most %g: the minimum is at %v with %g, want (%g, %g)", c.high, best, value, c.x, c.y)
		}
	}
}

// Priors move a fit towards their law, by as much as the equation says: with one row at 0 only signal's prior is left.
func TestPriorsMoveTheFit(t *testing.T) {
	c := Config{Kernel: Matern52, Signal: Range(1, 1e-3, 1e3).With(Gamma{3, 2}), Length: Fixed(1), Noise: Fixed(1e-9)}
	m := must.Get(New(c, 1))(t)
	must.Do(t, m.Fit([]float64{0}, []float64{0}, rng.NewStream(1, "fit")))
	// −½ log s + 2 log s − 2s is largest at s = 0.75.
	near(t, "the signal", m.Params().Signal, 0.75, 1e-5)
}

// branin has its three minima of 0.397887 at (−π, 12.275), (π, 2.275) and (3π, 2.475).
func branin(x, y float64) float64 {
	a := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
	return a*a + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
}

// Fifteen evaluations by EI come nearer to Branin's minimum than fifteen random ones, in 10 seeds of 10 (by chance:
// p = 0.001), and within 0.5 of it in the mean.
func TestExpectedImprovementFindsBranin(t *testing.T) {
	const first, evaluations = 5, 20
	box := Box{[]float64{0, 0}, []float64{1, 1}}
	value := func(x []float64) float64 { return -branin(15*x[0]-5, 15*x[1]) }
	var regret, plain float64
	const seeds = 10
	for seed := range uint64(seeds) {
		s := rng.NewStream(seed, "branin")
		m := must.Get(New(Config{Kernel: Matern52, Each: true, Signal: Range(1, 1e-2, 1e2), Length: Range(0.5, 1e-2, 1e2),
			Noise: Fixed(1e-6), Restarts: 2}, 2))(t)
		var x, y []float64
		random := math.Inf(-1)
		for len(y) < evaluations {
			point := []float64{s.Float64(), s.Float64()}
			random = max(random, value(point))
			if len(y) >= first {
				mean, sd := moments(y)
				z := make([]float64, len(y))
				best := math.Inf(-1)
				for i, v := range y {
					z[i] = (v - mean) / sd
					best = max(best, z[i])
				}
				must.Do(t, m.Fit(x, z, s))
				q := m.Query()
				point, _ = Maximize(func(x, g []float64) float64 {
					q.At(x)
					v, dm, ds := Expected(q.Mean, q.SD, best)
					if g != nil {
						q.Gradient(dm, ds, g)
					}
					return v
				}, box, Scrambled(64, 2, s), 5)
			}
			x, y = append(x, point...), append(y, value(point))
		}
		best := math.Inf(-1)
		for _, v := range y {
			best = max(best, v)
		}
		regret += (-best - 0.397887) / seeds
		plain += (-random - 0.397887) / seeds
	}
	t.Logf("regret %.3f, of random search %.3f", regret, plain)
	if regret > 0.3 || plain < 2*regret {
		t.Errorf("regret %.3f, of random search %.3f; want below 0.3, and below half of random search's", regret, plain)
	}
}

func moments(y []float64) (mean, sd float64) {
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		sd += (v - mean) * (v - mean) / float64(len(y))
	}
	return mean, math.Sqrt(sd)
}
