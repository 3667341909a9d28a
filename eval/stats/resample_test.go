package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

func normals(s *rng.Stream, rows, cols int) Scores {
	out := make(Scores, rows)
	for i := range out {
		out[i] = make([]float64, cols)
		for j := range out[i] {
			out[i][j] = s.Norm()
		}
	}
	return out
}

// A resample's IQM, taken from counts over sorted scores, is the IQM of the scores written out as often as they were
// drawn.
func TestCountedIQM(t *testing.T) {
	s := rng.NewStream(1, "counted")
	for _, size := range [][2]int{{1, 1}, {1, 3}, {1, 20}, {3, 7}, {5, 12}} {
		x := normals(s, size[0], size[1])
		b := newResampled(x)
		for range 20 {
			draw(b.rows, s)
			draw(b.cols, s)
			var written []float64
			for i, n := range b.rows {
				for j, m := range b.cols {
					written = append(written, slices.Repeat([]float64{x[i][j]}, n*m)...)
				}
			}
			near(t, "IQM of a resample", b.iqm(), IQM(written), 1e-12)
		}
	}
}

// Three training seeds that differ by chance, against a policy of the same expectation: workloads agree that
// these three are better or worse, but that says nothing of the method. Decided in at most 5 % of 400 trials, with four
// standard errors' allowance; the sign flips alone would decide most.
func TestFewTrainingSeeds(t *testing.T) {
	s := rng.NewStream(7, "few")
	const trials = 400
	decided, flips := 0, 0
	for k := range trials {
		a := normals(s, 3, 20)
		for _, row := range a {
			shift := s.Norm()
			for j := range row {
				row[j] = shift + 0.3*row[j]
			}
		}
		b := Scores{make([]float64, 20)}
		got := Compare(a, []Scores{b}, envs.Bounds{}, 400, rng.New(8, "few").With(uint64(k)))[0]
		if got.Decided() {
			decided++
		}
		diff := make([]float64, 20)
		for j := range diff {
			diff[j] = a.column(j)
		}
		if signFlip(diff, 400, rng.NewStream(uint64(k), "flips")) < Alpha {
			flips++
		}
	}
	if most := 0.05 + 4*math.Sqrt(0.05*0.95/trials); float64(decided)/trials > most {
		t.Errorf("%d of %d null comparisons over three training seeds are decided, want at most %.0f", decided, trials, most*trials)
	}
	if flips < trials/2 {
		t.Errorf("sign flips decide %d of %d: this test no longer shows why they are not enough", flips, trials)
	}
}

// A method with five training seeds that is better by twice their deviation is found to be better.
func TestTrainingSeedsPower(t *testing.T) {
	s := rng.NewStream(9, "power")
	found := 0
	for k := range 50 {
		a, b := normals(s, 5, 20), normals(s, 1, 20)
		for _, row := range a {
			shift := 2 + s.Norm()
			for j := range row {
				row[j] = shift + 0.3*row[j]
			}
		}
		for j := range b[0] {
			b[0][j] *= 0.3
		}
		if got := Compare(a, []Scores{b}, envs.Bounds{}, 400, rng.New(10, "power").With(uint64(k)))[0]; got.Decided() && got.Difference.Point > 0 {
			found++
		}
	}
	// One-sample t with four degrees of freedom and an effect of two deviations has a power of 0.91.
	if found < 35 {
		t.Errorf("found in %d of 50", found)
	}
}

// Values of scipy.stats.t.sf(2.5, 4)*2 and of ttest_1samp, by the closed form of t with 4 degrees of freedom.
func TestWelch(t *testing.T) {
	// Five training seeds, one workload: a one-sample t test of 1, 2, 3, 4, 5 against 0: t = 3/√(2.5/5) = 4.2426, p =
	// 0.0132.
	a := Scores{{1}, {2}, {3}, {4}, {5}}
	closed := func(x float64) float64 { // P(|T₄| > x)
		r := 4 + x*x
		return 1 - x*(x*x+6)/math.Pow(r, 1.5)
	}
	near(t, "p of five", welch(a, Scores{{0}}, []float64{3}), closed(3/math.Sqrt(0.5)), 1e-12)
	near(t, "p without several training seeds", welch(Scores{{1, 2}}, Scores{{0, 0}}, []float64{1, 2}), 0, 0)
	near(t, "p of no difference", welch(Scores{{1}, {-1}}, Scores{{0}}, []float64{0}), 1, 0)
	near(t, "p without variance", welch(Scores{{1}, {1}}, Scores{{0}}, []float64{1}), 0, 0)
}

// With too few workloads nothing can be decided, whatever the difference; with as many as Workloads says it can.
func TestWorkloads(t *testing.T) {
	for _, c := range []struct{ baselines, want int }{{1, 6}, {2, 7}, {4, 8}, {10, 9}, {0, 6}} {
		if got := Workloads(c.baselines); got != c.want {
			t.Errorf("Workloads(%d) is %d, want %d", c.baselines, got, c.want)
		}
	}
	for n := 5; n <= 6; n++ {
		a, b := make([]float64, n), make([]float64, n)
		for j := range a {
			a[j] = 1
		}
		if got := Compare(Scores{a}, []Scores{{b}}, envs.Bounds{}, 1000, rng.New(1, "least"))[0]; got.Decided() != (n == 6) {
			t.Errorf("%d workloads: %+v", n, got)
		}
	}
}

// The simultaneous interval for four baselines is wider than the interval for one, and no narrower than 98.75 % of the
// resamples.
func TestSimultaneous(t *testing.T) {
	s := rng.NewStream(13, "wide")
	a, b := normals(s, 1, 30), normals(s, 1, 30)
	one := Compare(a, []Scores{b}, envs.Bounds{}, 4000, rng.New(1, "wide"))[0]
	four := Compare(a, []Scores{b, b, b, b}, envs.Bounds{}, 4000, rng.New(1, "wide"))[0]
	near(t, "low of one", one.SimultaneousLow, one.Difference.Low, 0)
	near(t, "high of one", one.SimultaneousHigh, one.Difference.High, 0)
	if !(four.SimultaneousLow < four.Difference.Low && four.SimultaneousHigh > four.Difference.High) {
		t.Errorf("four baselines: %+v", four)
	}
	// A normal mean's 98.75 % interval is 2.498/1.960 times as wide as its 95 % one.
	near(t, "ratio of widths", (four.SimultaneousHigh-four.SimultaneousLow)/(four.Difference.High-four.Difference.Low), 2.498/1.960, 0.06)
}

// A NaN is not the smallest of scores, and not cut away: nothing is known then, nothing decided, and the family's other
// comparisons stand.
func TestMissing(t *testing.T) {
	nan := math.NaN()
	holed := Scores{{nan, 2, 3, 4, 5, 6, 7, 8}}
	if iv := IQMInterval(holed, envs.Bounds{}, 100, rng.NewStream(1, "x")); !math.IsNaN(iv.Point) || !math.IsNaN(iv.Low) || !math.IsNaN(IQM(holed[0])) {
		t.Errorf("IQM with a NaN: %+v", iv)
	}
	for _, iv := range ProfileInterval(holed, []float64{1, 2}, 100, rng.NewStream(1, "x")) {
		if !math.IsNaN(iv.Point) {
			t.Errorf("profile with a NaN: %+v", iv)
		}
	}
	a := Scores{{1, 1, 1, 1, 1, 1, 1, 1}}
	got := Compare(a, []Scores{holed, {{0, 0, 0, 0, 0, 0, 0, 0}}}, envs.Bounds{}, 1000, rng.New(1, "x"))
	if got[0].Decided() || got[0].P != 1 || !math.IsNaN(got[0].Difference.Point) {
		t.Errorf("compared with NaN: %+v", got[0])
	}
	if !got[1].Decided() {
		t.Errorf("the other comparison: %+v", got[1])
	}
	inf := Compare(a, []Scores{{{math.Inf(-1), 0, 0, 0, 0, 0, 0, 0}}}, envs.Bounds{}, 1000, rng.New(1, "x"))[0]
	if inf.Decided() || inf.Improvement.Point != 1 {
		t.Errorf("compared with an infinite score: %+v", inf)
	}
}

// The IQM cuts off one infinite score of eight, and no resample turns it into NaN.
func TestInfinite(t *testing.T) {
	iv := IQMInterval(Scores{{math.Inf(-1), 2, 3, 4, 5, 6, 7, 8}}, envs.Bounds{}, 1000, rng.NewStream(1, "inf"))
	near(t, "IQM", iv.Point, 4.5, 0)
	if math.IsNaN(iv.Low) || math.IsNaN(iv.High) {
		t.Errorf("interval %+v", iv)
	}
}

func TestProfileInterval(t *testing.T) {
	s := normals(rng.NewStream(11, "profile"), 2, 30)
	tau := []float64{1, -9, 0, 9} // in any order
	got := ProfileInterval(s, tau, 2000, rng.NewStream(12, "profile"))
	for k, p := range Profile(s.Flat(), tau) {
		near(t, "point", got[k].Point, p, 0)
	}
	near(t, "all above", got[1].Low, 1, 0)
	near(t, "none above", got[3].High, 0, 0)
	if w := got[2].High - got[2].Low; !(got[2].Low < got[2].Point && got[2].Point < got[2].High && w > 0.1 && w < 0.5) {
		t.Errorf("interval at 0: %+v", got[2])
	}
}

func BenchmarkIQMInterval(b *testing.B) {
	s := normals(rng.NewStream(1, "bench"), 5, 50)
	b.ReportAllocs()
	for b.Loop() {
		IQMInterval(s, envs.Bounds{}, 1000, rng.NewStream(2, "bench"))
	}
}

func BenchmarkCompare(b *testing.B) {
	x := rng.NewStream(1, "bench")
	s, r := normals(x, 5, 50), normals(x, 1, 50)
	b.ReportAllocs()
	for b.Loop() {
		Compare(s, []Scores{r, r, r, r}, envs.Bounds{}, 1000, rng.New(2, "bench"))
	}
}

// A copy of a policy that differs by rounding is neither better nor worse, however often it is so.
func TestTied(t *testing.T) {
	a, b := Scores{make([]float64, 20)}, Scores{make([]float64, 20)}
	for j := range a[0] {
		a[0][j] = 3 + float64(j)
		b[0][j] = a[0][j] * (1 + 1e-7)
	}
	c := Compare(a, []Scores{b}, envs.Bounds{}, 1000, rng.New(1, "tied"))[0]
	if c.Decided() || c.P != 1 || c.Improvement.Point != 0.5 {
		t.Errorf("%+v", c)
	}
	for j := range b[0] {
		b[0][j] = a[0][j] * (1 + 1e-5)
	}
	if c := Compare(a, []Scores{b}, envs.Bounds{}, 1000, rng.New(1, "tied"))[0]; !c.Decided() || c.Improvement.Point != 0 {
		t.Errorf("a small difference: %+v", c)
	}
	inf := math.Inf(1)
	if tied(inf, 1) || tied(inf, inf) || tied(math.NaN(), 1) || !tied(0, 0) {
		t.Error("what is not finite is tied")
	}
}
