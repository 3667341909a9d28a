package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// bounded is a metric with bounds: scores are of(z), where z is normal about centre.
type bounded struct {
	name   string
	in     envs.Bounds
	centre float64
	of     func(z float64) float64
}

func logistic(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// boundedLaws are shares from rare to nearly all, and a price.
func boundedLaws() []bounded {
	var out []bounded
	for _, p := range []float64{0.02, 0.12, 0.5, 0.96} {
		out = append(out, bounded{fmt.Sprintf("share about %g", p), envs.Share(), math.Log(p / (1 - p)), logistic})
	}
	return append(out, bounded{"price, log-normal", envs.AtLeast(0), 0, func(z float64) float64 { return math.Exp(z / 2) }})
}

// boundlessMethod is the stretched bootstrap interval of a mean, as that of differences: it knows no bounds.
const boundlessMethod = "stretched without bounds"

// The mean of a metric with bounds over training seeds and 20 workloads: the interval covers as often as the one that
// leaves the bounds, and stays within them.
func TestCoverageBounded(t *testing.T) {
	const n = 20
	trials, resamples := size(80, 1000), size(200, 400)
	counts := []int{1, 5}
	if *long {
		counts = []int{1, 2, 3, 4, 5, 10}
	}
	outside := map[string]int{}
	var cells []*cell
	for _, l := range boundedLaws() {
		for _, e := range allEffects() {
			x := normalLaw(e.total())
			truth := law{quantile: func(u float64) float64 { return l.of(l.centre + x.quantile(u)) }}.between(0, 1)
			for _, m := range counts {
				plain, ours := pair("mean", l.name, e.name, m, n)
				boundless := &cell{law: l.name, method: boundlessMethod, m: m, n: n, effects: e.name, measure: "mean"}
				cells = append(cells, plain, boundless, ours)
				s := rng.NewStream(uint64(m), "bounded "+l.name+e.name)
				scores, worlds := grid(m, n), make([]float64, n)
				for k := range trials {
					for j := range worlds {
						worlds[j] = e.world * s.Norm()
					}
					fixed := e
					if m == 1 { // the interval is that of one checkpoint: only workloads differ
						fixed.seed, fixed.both = 0, math.Hypot(e.seed, e.both)
					}
					fixed.fill(s, scores, worlds, func(z float64) float64 { return l.of(l.centre + z) })
					draws := meanDraws(scores, resamples, rng.New(1, "bounded").With(uint64(k)).Stream())
					plain.note(truth, Quantile(draws, tail), Quantile(draws, 1-tail))
					iv, none := meanInterval(scores, l.in, draws), Scores{make([]float64, n)}
					low, high := stretched(iv.Point, draws, errorVarianceOf(scores, none, scores.columns()), tail, envs.Bounds{})
					for c, ends := range map[*cell][2]float64{ours: {iv.Low, iv.High}, boundless: {low, high}} {
						c.note(truth, ends[0], ends[1])
						if !l.in.Contain(ends[0]) || !l.in.Contain(ends[1]) {
							outside[c.method]++
						}
					}
				}
			}
		}
	}
	keepCells(t, "coverage_bounds", cells)
	all := 0
	for _, c := range pick(cells, ourMethod, nil) {
		all += c.trials
	}
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "intervals of shares and of a price over 1 to 10 training seeds and 20 workloads leave the metric's bounds",
		Bound:    "never",
		Measured: fmt.Sprintf("%d of %d; without the bounds' scale %d", outside[ourMethod], all, outside[boundlessMethod]),
		Holds:    outside[ourMethod] == 0 && outside[boundlessMethod] > 0,
	})
	for _, c := range []struct {
		text  string
		bound float64
		keep  func(c *cell) bool
	}{
		{"mean of a share or price, one training seed and 20 workloads", 0.88, func(c *cell) bool { return c.m == 1 }},
		{"mean of a share or price over 4 and more training seeds and 20 workloads", 0.88, func(c *cell) bool { return c.m >= FewSeeds }},
	} {
		claimCoverage(t, c.text, c.bound, pick(cells, ourMethod, c.keep), pick(cells, plainMethod, c.keep))
	}
	text := "\n"
	for _, c := range pick(cells, ourMethod, nil) {
		i := slices.Index(cells, c)
		text += fmt.Sprintf("%-20s %-26s m=%-2d percentile %.3f boundless %.3f ours %.3f widths %.3f %.3f\n", c.law, c.effects, c.m,
			cells[i-2].coverage(), cells[i-1].coverage(), c.coverage(), cells[i-1].width(), c.width())
	}
	t.Log(text)
}

// Whatever the scores, no interval leaves the metric's bounds, and every one holds its estimate: shares near both ends,
// with zeros and ones among them, over any number of training seeds.
func TestWithinBounds(t *testing.T) {
	s := rng.NewStream(3, "within bounds")
	for trial := range 1200 {
		m, n := 1+s.IntN(6), 1+s.IntN(12)
		in := []envs.Bounds{envs.Share(), envs.AtLeast(0), {Low: math.Inf(-1), High: 0}, {Low: -2, High: 3}}[trial%4]
		low, high := in.Limits()
		spread := math.Exp(3 * s.Norm())
		one := func() float64 {
			z := spread * s.Norm()
			switch trial % 4 {
			case 0, 3:
				z = logistic(z)
				if s.IntN(3) == 0 {
					z = float64(s.IntN(2)) // an end
				}
				return low + (high-low)*z
			case 1:
				return max(0, z)
			}
			return min(0, z)
		}
		draw := func(m int) Scores {
			x := grid(m, n)
			for i := range x {
				for j := range x[i] {
					x[i][j] = one()
				}
			}
			return x
		}
		a, b := draw(m), draw(1+s.IntN(2))
		check := func(what string, in envs.Bounds, point, low, high float64) {
			if math.IsNaN(low) && math.IsNaN(high) && m*n == 1 {
				return
			}
			if !in.Contain(low) || !in.Contain(high) || !(low <= point+1e-9 && point <= high+1e-9) {
				t.Fatalf("trial %d: the %s of %v is %g [%g, %g], want it within %v", trial, what, a, point, low, high, in)
			}
		}
		key := rng.New(uint64(trial), "within bounds")
		iv := MeanOf(a, in, 100, key.With(0).Stream())
		check("mean", in, iv.Point, iv.Low, iv.High)
		iv = IQMInterval(a, in, 100, key.With(1).Stream())
		check("IQM", in, iv.Point, iv.Low, iv.High)
		if c := Compare(a, []Scores{b, b}, in, 100, key.With(2))[0]; len(a)*len(b)*n > 1 {
			check("difference", ofDifferences(in), c.Difference.Point, c.Difference.Low, c.Difference.High)
			check("difference for all", ofDifferences(in), c.Difference.Point, c.SimultaneousLow, c.SimultaneousHigh)
		}
	}
}

// Scores that leave the declared bounds are shown as they are, and equal scores have an interval without width.
func TestBoundsThatDoNotHold(t *testing.T) {
	iv := MeanOf(Scores{{2, 3, 4, 5}}, envs.Share(), 500, rng.NewStream(1, "x"))
	if !(iv.Point == 3.5 && iv.Low < 3 && iv.High > 4) {
		t.Errorf("scores beyond 1: %+v", iv)
	}
	for _, x := range []float64{0, 0.3, 1} {
		if iv := MeanOf(Scores{{x, x, x}, {x, x, x}}, envs.Share(), 500, rng.NewStream(1, "x")); math.Abs(iv.Low-x) > 1e-12 ||
			math.Abs(iv.High-x) > 1e-12 {
			t.Errorf("all scores are %g: %+v", x, iv)
		}
	}
}

// The range over training seeds, by hand.
func TestSeedRange(t *testing.T) {
	a, b := Scores{{1, 3}, {4, 6}, {2, 2}}, Scores{{1, 1}, {0, 1}}
	lo, hi := SeedRange(a)
	near(t, "lowest", lo, 2, 0)
	near(t, "highest", hi, 5, 0)
	lo, hi = DifferenceRange(a, b)
	near(t, "lowest difference", lo, 1, 0)
	near(t, "highest difference", hi, 4.5, 0)
}
