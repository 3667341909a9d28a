package stats

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// unpaired is the width of Welch's interval of the difference of two independent means: the interval to report if the
// two policies had not faced the same workloads.
func unpaired(a, b []float64) float64 {
	var c errorVariance
	c.add(a)
	c.add(b)
	return 2 * c.halfWidth(tail)
}

func pairedWidth(a, b []float64, key rng.Key) float64 {
	diff := differences(Scores{a}, Scores{b})
	iv, _, _ := pairedInterval(Scores{a}, Scores{b}, diff, envs.Bounds{}, 1, 1000, key.Stream())
	return iv.High - iv.Low
}

// realScores are the main job's scores by metric and policy, in the order of workload seeds: of the learned policy
// those of its first training seed, under the name "".
func realScores(t *testing.T) map[string]map[string][]float64 {
	t.Helper()
	f := must.Get(os.Open("../../docs/results/sizing/scores.csv"))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	first := ""
	out := map[string]map[string][]float64{}
	for _, r := range rows[1:] {
		policy, seed := r[0], r[1]
		if seed != "0" {
			policy = ""
			if first == "" {
				first = seed
			}
			if seed != first {
				continue
			}
		}
		x := must.Get(strconv.ParseFloat(r[4], 64))(t)
		if out[r[3]] == nil {
			out[r[3]] = map[string][]float64{}
		}
		out[r[3]][policy] = append(out[r[3]][policy], x)
	}
	return out
}

// The main job's scores: how wide the interval of a difference is with the workloads paired, and as if they were not.
func TestPairedWidthsReal(t *testing.T) {
	text := "metric,baseline,paired_width,unpaired_width,ratio\n"
	var ratios []float64
	narrower := 0
	scores := realScores(t)
	for _, metric := range slices.Sorted(maps.Keys(scores)) {
		by := scores[metric]
		for _, baseline := range slices.Sorted(maps.Keys(by)) {
			if baseline == "" {
				continue
			}
			p, u := pairedWidth(by[""], by[baseline], rng.New(1, metric)), unpaired(by[""], by[baseline])
			ratios = append(ratios, p/u)
			if p < u {
				narrower++
			}
			text += fmt.Sprintf("%s,%s,%.4g,%.4g,%.3f\n", metric, baseline, p, u, p/u)
		}
	}
	keepFile(t, "paired_widths.csv", text)
	slices.Sort(ratios)
	mid := Quantile(ratios, 0.5)
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: fmt.Sprintf("paired against unpaired 95 %% intervals of the main job's %d differences (docs/results/sizing/scores.csv)", len(ratios)),
		Bound:    "paired ones narrower in the median",
		Measured: fmt.Sprintf("width ratio median %.2f, quartiles %.2f to %.2f, %d of %d narrower", mid, Quantile(ratios, 0.25), Quantile(ratios, 0.75), narrower, len(ratios)),
		Holds:    mid < 1,
	})
}

// In simulation the ratio is √(1 − ρ) for scores of one deviation whose correlation under a workload is ρ.
func TestPairedWidthsSimulated(t *testing.T) {
	trials := size(200, 2000)
	text, worst := "correlation,paired_over_unpaired,expected\n", 0.0
	for _, rho := range []float64{0, 0.5, 0.9, 0.99} {
		s := rng.NewStream(1, fmt.Sprint("paired ", rho))
		paired, apart := 0.0, 0.0
		a, b := make([]float64, 20), make([]float64, 20)
		for k := range trials {
			for j := range a {
				w := math.Sqrt(rho) * s.Norm()
				a[j], b[j] = w+math.Sqrt(1-rho)*s.Norm(), w+math.Sqrt(1-rho)*s.Norm()
			}
			paired, apart = paired+pairedWidth(a, b, rng.New(1, "paired").With(uint64(k))), apart+unpaired(a, b)
		}
		// Student's t has 19 degrees of freedom paired, 38 unpaired: 2.093 against 2.024.
		got, want := paired/apart, 2.093/2.024*math.Sqrt(1-rho)
		worst = max(worst, math.Abs(got/want-1))
		text += fmt.Sprintf("%g,%.4f,%.4f\n", rho, got, want)
	}
	keepFile(t, "paired_widths_simulated.csv", text)
	proof.Claim(t, proof.Row{
		Topic: "statistics", Claim: "mean paired over mean unpaired width at correlations 0, 0.5, 0.9 and 0.99, 20 workloads", Bound: "√(1 − ρ)·t₁₉/t₃₈ within 5 %",
		Measured: fmt.Sprintf("at most %.1f %% away", 100*worst), Holds: worst < 0.05,
	})
}
