package stats

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// size is how much a simulation does: full behind -long.
func size(short, full int) int {
	if *long {
		return full
	}
	return short
}

// sizes are the numbers of workloads.
func sizes() []int {
	if *long {
		return []int{5, 10, 20, 50}
	}
	return []int{10, 20}
}

// pair starts the cells of both methods.
func pair(measure, law, effects string, m, n int) (plain, ours *cell) {
	plain = &cell{law: law, method: plainMethod, m: m, n: n, effects: effects, measure: measure}
	ours = &cell{law: law, method: ourMethod, m: m, n: n, effects: effects, measure: measure}
	return plain, ours
}

// The interval of the IQM of one policy, as eval reports it, over one training seed.
func TestCoverageIQM(t *testing.T) {
	trials, resamples := size(100, 1500), size(250, 800)
	var cells []*cell
	for _, l := range laws() {
		truth := l.between(0.25, 0.75)
		for _, n := range sizes() {
			plain, ours := pair("IQM", l.name, "", 1, n)
			cells = append(cells, plain, ours)
			s, row := rng.NewStream(uint64(n), "coverage of "+l.name), make([]float64, n)
			for k := range trials {
				for j := range row {
					row[j] = l.draw(s)
				}
				key := rng.New(1, "coverage, IQM").With(uint64(k))
				noteIQM(truth, Scores{row}, iqmDraws(Scores{row}, resamples, key.Stream()), plain, ours)
			}
		}
	}
	keepCells(t, "coverage_iqm", cells)
	keepFigure(t, "coverage_iqm", coverageFigure("Coverage of the 95 % interval of an IQM, one training seed", "workload seeds", cells,
		func(c *cell) string { return c.law }, func(c *cell) float64 { return float64(c.n) }))
	from10 := func(c *cell) bool { return c.n >= 10 }
	claimCoverage(t, "IQM of one training seed, normal, log-normal, Student's t (3), rates 0.1 and 0.5, 10 to 50 workloads", 0.93, pick(cells, ourMethod, from10), pick(cells, plainMethod, from10))
	if *long {
		five := func(c *cell) bool { return c.n == 5 }
		claimCoverage(t, "the same with 5 workloads", 0.90, pick(cells, ourMethod, five), pick(cells, plainMethod, five))
	}
}

// noteIQM notes both intervals of the same resamples.
func noteIQM(truth float64, s Scores, draws []float64, plain, ours *cell) {
	plain.note(truth, Quantile(draws, tail), Quantile(draws, 1-tail))
	iv := iqmInterval(s, envs.Bounds{}, draws)
	ours.note(truth, iv.Low, iv.High)
}

func noteDifference(truth float64, a, b Scores, diff []float64, tail float64, draws []float64, plain, ours *cell) {
	plain.note(truth, Quantile(draws, tail), Quantile(draws, 1-tail))
	low, high := stretched(Mean(diff), draws, errorVarianceOf(a, b, diff), tail, envs.Bounds{})
	ours.note(truth, low, high)
}

// claimCoverage claims that the lowest coverage is not below bound, with three Monte Carlo errors' allowance, and
// shows the plain method's.
func claimCoverage(t *testing.T, what string, bound float64, ours, plain []*cell) {
	t.Helper()
	lo, hi, p := least(ours), most(ours), least(plain)
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "95 % interval: " + what, Bound: fmt.Sprintf("covers in at least %.0f %% of samples", 100*bound),
		Measured: fmt.Sprintf("%s (%s, n = %d) to %s; the percentile bootstrap's lowest is %s", lo.percent(), lo.law, lo.n, hi.percent(), p.percent()),
		Holds:    lo.coverage()+3*lo.slack() >= bound,
	})
}

// The interval of the paired mean difference of one policy from another, one training seed each. Laws are those of
// the difference.
func TestCoverageDifference(t *testing.T) {
	trials, resamples := size(100, 1500), size(250, 800)
	differences := laws()
	for i, l := range differences[3:] { // of two rates, their difference
		differences[3+i].name = "difference of rates " + l.name[len("rate "):]
	}
	var cells []*cell
	for i, l := range differences {
		truth := 0.0
		if l.name == "log-normal" {
			truth = math.Exp(0.5)
		}
		for _, n := range sizes() {
			plain, ours := pair("difference", l.name, "", 1, n)
			cells = append(cells, plain, ours)
			s, a, b := rng.NewStream(uint64(n), "coverage of "+l.name), make([]float64, n), make([]float64, n)
			diff := make([]float64, n)
			for k := range trials {
				for j := range a {
					if a[j] = l.draw(s); i >= 3 {
						b[j] = l.draw(s)
					}
					diff[j] = a[j] - b[j]
				}
				key := rng.New(1, "coverage, difference").With(uint64(k))
				noteDifference(truth, Scores{a}, Scores{b}, diff, tail, pairedDraws(Scores{a}, Scores{b}, resamples, key.Stream()), plain, ours)
			}
		}
	}
	keepCells(t, "coverage_difference", cells)
	keepFigure(t, "coverage_difference", coverageFigure("Coverage of the 95 % interval of a paired mean difference, one training seed", "workload seeds", cells,
		func(c *cell) string { return c.law }, func(c *cell) float64 { return float64(c.n) }))
	skewed := func(c *cell) bool { return c.law == "log-normal" }
	even := func(c *cell) bool { return !skewed(c) }
	claimCoverage(t, "paired difference of one training seed, normal, Student's t (3), differences of rates", 0.93, pick(cells, ourMethod, even), pick(cells, plainMethod, even))
	text, holds := "", true
	for i, c := range pick(cells, ourMethod, skewed) {
		p := pick(cells, plainMethod, skewed)[i]
		text += fmt.Sprintf("; n = %d: %s against %s", c.n, c.percent(), p.percent())
		holds = holds && c.coverage() > p.coverage()
	}
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "95 % interval: mean difference whose law is log-normal (skewness 6), where the mean's intervals fall short of 95 %",
		Bound: "covers more often than the percentile bootstrap", Measured: text[2:], Holds: holds,
	})
}

// effects are the standard deviations of what a training seed, a workload and both together do to a score.
type effects struct {
	name              string
	seed, world, both float64
}

func allEffects() []effects {
	return []effects{{"seeds and workloads alike", 1, 1, 1}, {"seeds differ most", 1, 0.3, 0.3}, {"workloads differ most", 0.3, 1, 0.3}}
}

func (e effects) total() float64 { return math.Sqrt(e.seed*e.seed + e.world*e.world + e.both*e.both) }

// fill draws scores: seeds of their own, the workloads' effects given.
func (e effects) fill(s *rng.Stream, x Scores, worlds []float64, of func(float64) float64) {
	for i := range x {
		a := e.seed * s.Norm()
		for j := range x[i] {
			x[i][j] = of(a + worlds[j] + e.both*s.Norm())
		}
	}
}

func grid(m, n int) Scores {
	x := make(Scores, m)
	for i := range x {
		x[i] = make([]float64, n)
	}
	return x
}

// seedCounts are the numbers of training seeds.
func seedCounts() []int {
	if *long {
		return []int{2, 3, 5, 10}
	}
	return []int{3, 5}
}

// Several training seeds under 20 workloads, both drawn at random: the IQM of a policy, and its mean difference from
// a heuristic that faces the same workloads.
func TestCoverageHierarchical(t *testing.T) {
	const n = 20
	trials, resamples := size(100, 1000), size(200, 400)
	var cells []*cell
	for _, skewed := range []bool{false, true} {
		for _, e := range allEffects() {
			l, of := normalLaw(e.total()), func(z float64) float64 { return z }
			if skewed {
				l, of = skewedLaw(e.total()), math.Exp
			}
			truth := l.between(0.25, 0.75)
			for _, m := range seedCounts() {
				plain, ours := pair("IQM", l.name, e.name, m, n)
				plainDiff, oursDiff := pair("difference", l.name, e.name, m, n)
				cells = append(cells, plain, ours)
				if !skewed {
					cells = append(cells, plainDiff, oursDiff)
				}
				s := rng.NewStream(uint64(m), "hierarchical "+l.name+e.name)
				x, b, worlds, diff := grid(m, n), grid(1, n), make([]float64, n), make([]float64, n)
				for k := range trials {
					for j := range worlds {
						worlds[j] = e.world * s.Norm()
					}
					e.fill(s, x, worlds, of)
					key := rng.New(1, "hierarchical").With(uint64(k))
					noteIQM(truth, x, iqmDraws(x, resamples, key.Stream()), plain, ours)
					if skewed {
						continue
					}
					for j := range diff { // the heuristic answers workloads in its own way
						b[0][j] = worlds[j] + e.world*s.Norm()
						diff[j] = x.column(j) - b[0][j]
					}
					noteDifference(0, x, b, diff, tail, pairedDraws(x, b, resamples, key.Stream()), plainDiff, oursDiff)
				}
			}
		}
	}
	keepCells(t, "coverage_seeds", cells)
	keepFigure(t, "coverage_seeds", coverageFigure("Coverage of 95 % intervals over training seeds and 20 workloads", "training seeds", cells,
		func(c *cell) string { return c.measure + ", " + c.law + ", " + c.effects }, func(c *cell) float64 { return float64(c.m) }))
	for _, what := range []struct {
		measure, text string
		from          int
		bound         float64
	}{
		{"IQM", "IQM over 5 and 10 training seeds and 20 workloads, normal and log-normal", 5, 0.93},
		{"difference", "mean difference from a heuristic over 5 and 10 training seeds and 20 workloads, normal", 5, 0.93},
		{"IQM", "IQM over 3 training seeds and 20 workloads", 3, 0.88},
		{"difference", "mean difference from a heuristic over 3 training seeds and 20 workloads", 3, 0.88},
	} {
		of := func(c *cell) bool {
			return c.measure == what.measure && (what.from == 3) == (c.m == 3) && c.m >= what.from
		}
		claimCoverage(t, what.text, what.bound, pick(cells, ourMethod, of), pick(cells, plainMethod, of))
	}
}

// The bounds that hold for all baselines at once: four baselines of one policy, all four differences covered.
func TestCoverageSimultaneous(t *testing.T) {
	const baselines = 4
	trials, resamples := size(80, 1000), size(300, 1000)
	var cells []*cell
	for _, m := range []int{1, 5} {
		for _, n := range sizes() {
			plain, ours := pair("four differences", "normal", fmt.Sprintf("%d training seeds", m), m, n)
			cells = append(cells, plain, ours)
			s := rng.NewStream(uint64(n), "simultaneous")
			a, worlds, diff := grid(m, n), make([]float64, n), make([]float64, n)
			e := effects{"", 0.5, 1, 0.5}
			if m == 1 {
				e.seed = 0
			}
			for k := range trials {
				for j := range worlds {
					worlds[j] = s.Norm()
				}
				e.fill(s, a, worlds, func(z float64) float64 { return z })
				outside, narrow := 0.0, 0.0 // how many miss
				for r := range baselines {
					b := grid(1, n)
					for j := range diff {
						b[0][j] = worlds[j] + 0.5*s.Norm()
						diff[j] = a.column(j) - b[0][j]
					}
					key := rng.New(1, "simultaneous").With(uint64(k)).With(uint64(r))
					draws := pairedDraws(a, b, resamples, key.Stream())
					if lo, hi := stretched(Mean(diff), draws, errorVarianceOf(a, b, diff), tail/baselines, envs.Bounds{}); lo > 0 || hi < 0 {
						outside++
					}
					if Quantile(draws, tail/baselines) > 0 || Quantile(draws, 1-tail/baselines) < 0 {
						narrow++
					}
				}
				ours.note(outside, 0, 0)
				plain.note(narrow, 0, 0)
			}
		}
	}
	keepCells(t, "coverage_simultaneous", cells)
	claimCoverage(t, "all of four differences at once, 1 and 5 training seeds, normal", 0.94, pick(cells, ourMethod, nil), pick(cells, plainMethod, nil))
}

// The probability of improvement where it is near 1, one training seed: resamples of workloads that all agree claim
// certainty.
func TestCoverageImprovement(t *testing.T) {
	trials, resamples := size(100, 1500), size(250, 800)
	var cells []*cell
	for _, p := range []float64{0.5, 0.8, 0.95} {
		for _, n := range sizes() {
			plain, ours := pair("probability of improvement", fmt.Sprintf("probability %g", p), "", 1, n)
			cells = append(cells, plain, ours)
			s := rng.NewStream(uint64(n), fmt.Sprint("improvement ", p))
			a, b := grid(1, n), grid(1, n)
			for k := range trials {
				for j := range a[0] {
					a[0][j] = 0
					if s.Float64() < p {
						a[0][j] = 1
					}
					b[0][j] = 0.5
				}
				raw := percentiles(pairedImprovement(a, b), improvementDraws(a, b, resamples, rng.New(1, "improvement").With(uint64(k)).Stream()))
				plain.note(p, raw.Low, raw.High)
				iv := widened(raw, n)
				ours.note(p, iv.Low, iv.High)
			}
		}
	}
	keepCells(t, "coverage_improvement", cells)
	claimCoverage(t, "probability of improvement 0.5, 0.8 and 0.95", 0.92, pick(cells, ourMethod, nil), pick(cells, plainMethod, nil))
}
