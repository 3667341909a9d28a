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

// Holm's correction computed by hand: the smallest of k p values is multiplied by k, the next by k − 1, …; each is at
// least the one before it and at most 1.
func TestHolmByHand(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.04, 0.01, 0.03, 0.02}, []float64{0.06, 0.04, 0.06, 0.06}},
		// 0.001·5, 0.008·4, 0.039·3 = 0.117, 0.041·2 = 0.082 → 0.117, 0.042·1 → 0.117.
		{[]float64{0.001, 0.008, 0.039, 0.041, 0.042}, []float64{0.005, 0.032, 0.117, 0.117, 0.117}},
		// 0.01·3, 0.01·2 → 0.03, 0.9·1.
		{[]float64{0.01, 0.9, 0.01}, []float64{0.03, 0.9, 0.03}},
		// 0.4·3 → 1, and all after it.
		{[]float64{0.5, 0.4, 0.6}, []float64{1, 1, 1}},
	} {
		got := Holm(c.p)
		worst := 0.0
		for i := range got {
			worst = max(worst, math.Abs(got[i]-c.want[i]))
		}
		proof.Claim(t, proof.Row{
			Topic: "statistics", Claim: fmt.Sprintf("Holm's correction of %v, worked by hand", c.p), Bound: fmt.Sprintf("%v to 1e-15", c.want),
			Measured: fmt.Sprintf("%.1e away", worst), Holds: worst <= 1e-15,
		})
	}
}

// null is an evaluation of a policy against four baselines that are equal to it in expectation.
type null struct {
	name  string
	m, n  int
	draw  func(s *rng.Stream) float64 // a score under a workload, of mean 0
	fixed bool                        // the policy's own scores are constant
}

const nullBaselines = 4

// decide is eval's decision, without the fields of Comparison that it doesn't read.
func decide(a, b Scores, family, resamples int, key rng.Key) decision {
	diff := differences(a, b)
	d := decision{p: pValue(a, b, diff, resamples, key)}
	_, d.low, d.high = pairedInterval(a, b, diff, envs.Bounds{}, family, resamples, key.With(0).Stream())
	return d
}

// play returns whether an evaluation without any true difference has a false verdict: by any p alone, by any corrected
// p, and by eval's decision.
func (c null) play(s *rng.Stream, resamples int, key rng.Key) (uncorrected, holm, decided bool) {
	a := grid(c.m, c.n)
	for i := range a {
		shift := 0.0
		if c.m > 1 {
			shift = s.Norm()
		}
		for j := range a[i] {
			a[i][j] = shift
			if !c.fixed {
				a[i][j] += c.draw(s)
			}
		}
	}
	raw, family := make([]float64, nullBaselines), make([]decision, nullBaselines)
	for r := range family {
		b := grid(1, c.n)
		for j := range b[0] {
			b[0][j] = c.draw(s)
		}
		family[r] = decide(a, b, nullBaselines, resamples, key.With(uint64(r)))
		raw[r] = family[r].p
	}
	corrected := Holm(raw)
	for r, d := range family {
		v := Comparison{PHolm: corrected[r], SimultaneousLow: d.low, SimultaneousHigh: d.high}
		decided = decided || v.Decided()
	}
	return slices.Min(raw) < Alpha, slices.Min(corrected) < Alpha, decided
}

// Four baselines that share the policy's scores in every comparison: the share of evaluations with any false verdict.
// Differences of two of one law are symmetric; a baseline whose scores are log-normal about the policy's constant is
// not, and there neither sign flips nor t are exact.
func TestFamilyWise(t *testing.T) {
	trials, resamples := size(100, 500), size(300, 400)
	var cases []null
	for _, n := range sizes() {
		cases = append(cases, null{"normal", 1, n, (*rng.Stream).Norm, false},
			null{"exponential", 1, n, func(s *rng.Stream) float64 { return s.Exp() - 1 }, false},
			null{"normal with five training seeds", 5, n, (*rng.Stream).Norm, false})
	}
	cases = append(cases, null{"log-normal against a constant", 1, 20, func(s *rng.Stream) float64 { return math.Exp(s.Norm()) - math.Exp(0.5) }, true})
	text := "case,training_seeds,workloads,uncorrected,holm,decided,trials\n"
	lowest, highest, where, holds, bare := 1.0, 0.0, "", true, [2]float64{1, 0}
	for _, c := range cases {
		s := rng.NewStream(uint64(c.n), "family-wise "+c.name)
		var count [3]float64
		for k := range trials {
			u, h, d := c.play(s, resamples, rng.New(1, "family-wise").With(uint64(k)))
			for i, hit := range []bool{u, h, d} {
				if hit {
					count[i] += 1 / float64(trials)
				}
			}
		}
		rate := count[2]
		slack := math.Sqrt(max(rate, 1/float64(trials)) * (1 - rate) / float64(trials))
		text += fmt.Sprintf("%q,%d,%d,%.4f,%.4f,%.4f,%d\n", c.name, c.m, c.n, count[0], count[1], rate, trials)
		if c.fixed {
			proof.Claim(t, proof.Row{
				Topic: "statistics", Claim: "family-wise error where differences are log-normal about 0 (skewness 6), 20 workloads, four baselines",
				Bound:    "known to be above 5 %; below 25 %",
				Measured: fmt.Sprintf("%.1f ± %.1f %%", 100*rate, 100*slack), Holds: rate < 0.25,
			})
			continue
		}
		lowest, bare = min(lowest, rate), [2]float64{min(bare[0], count[0]), max(bare[1], count[0])}
		if rate >= highest {
			highest, where = rate, fmt.Sprintf("%.1f ± %.1f %% (%s, n = %d)", 100*rate, 100*slack, c.name, c.n)
		}
		holds = holds && rate-3*slack <= Alpha
	}
	keepFile(t, "family_wise.csv", text)
	t.Log("\n" + text)
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "family-wise error under the null, four baselines: normal, exponential, and five training seeds that differ by chance",
		Bound:    "5 %, with three Monte Carlo errors' allowance",
		Measured: fmt.Sprintf("%.1f %% to %s; without correction %.1f to %.1f %%", 100*lowest, where, 100*bare[0], 100*bare[1]), Holds: holds,
	})
}

// The ordered verdict: four baselines that the policy beats by the objective every time, while it is worse by the
// constraint by exactly the margin that is allowed. To call it better is false: so is any verdict where neither
// metric differs.
func TestFamilyWiseOrdered(t *testing.T) {
	trials, resamples := size(100, 500), size(300, 400)
	const margin, n = 0.5, 20
	text, worst, where := "case,training_seeds,workloads,false_verdicts,trials\n", 0.0, ""
	holds := true
	for _, m := range []int{1, 5} {
		for _, c := range []struct {
			name            string
			gain, violation float64
		}{{"constraint worse by the margin, objective better", 5, margin}, {"no difference", 0, 0}} {
			s, hits := rng.NewStream(uint64(m), "ordered "+c.name), 0
			for k := range trials {
				key, wrong := rng.New(1, "ordered").With(uint64(k)), false
				ps, family := make([]float64, nullBaselines), make([]Comparison, nullBaselines)
				kept, keptBack := make([]bool, nullBaselines), make([]bool, nullBaselines)
				constraint, objective := effects{"", 1, 0, 1}, effects{"", 1, 0, 1}
				if m == 1 {
					constraint.seed, objective.seed = 0, 0
				}
				zero := make([]float64, n)
				v, o := grid(m, n), grid(m, n)
				constraint.fill(s, v, zero, func(z float64) float64 { return z + c.violation })
				objective.fill(s, o, zero, func(z float64) float64 { return z - c.gain })
				for r := range family {
					bv, bo := normals(s, 1, n), normals(s, 1, n)
					d := decide(v, bv, nullBaselines, resamples, key.With(uint64(2*r)))
					by := Comparison{SimultaneousLow: d.low, SimultaneousHigh: d.high}
					kept[r], keptBack[r] = by.NotWorse(margin, true), by.NotBetter(margin, true)
					d = decide(o, bo, nullBaselines, resamples, key.With(uint64(2*r+1)))
					ps[r] = d.p
					family[r] = Comparison{SimultaneousLow: d.low, SimultaneousHigh: d.high}
				}
				for r, p := range Holm(ps) {
					family[r].PHolm = p
					better := family[r].SimultaneousHigh < 0
					wrong = wrong || family[r].Decided() && (better && kept[r] || !better && keptBack[r])
				}
				if wrong {
					hits++
				}
			}
			rate := float64(hits) / float64(trials)
			slack := math.Sqrt(max(rate, 1/float64(trials)) * (1 - rate) / float64(trials))
			text += fmt.Sprintf("%q,%d,%d,%.4f,%d\n", c.name, m, n, rate, trials)
			if rate >= worst {
				worst, where = rate, fmt.Sprintf("%.1f ± %.1f %% (%s; training seeds: %d)", 100*rate, 100*slack, c.name, m)
			}
			holds = holds && rate-3*slack <= Alpha
		}
	}
	keepFile(t, "family_wise_ordered.csv", text)
	t.Log("\n" + text)
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "family-wise error of the verdict on constraint and objective, four baselines, 20 workloads",
		Bound: "5 %, with three Monte Carlo errors' allowance", Measured: "at most " + where, Holds: holds,
	})
}
