package optiserve

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/eval/profiles"
)

// costErrors returns the relative errors in percent, ascending, of predicted prices of runs against the mean of what the
// measured runs are billed (eq. 3.2: rounded up to 100 ms), for all functions and sizes: by the laws chosen, as the
// expectation of the rounded time of lognormal runs, and by the published model, as the rounded mean of the exponential law.
func costErrors(fit *profiles.Result, samples map[string][]memory.Sample) (chosen, published []float64) {
	tariff := bill.Lambda100()
	for _, f := range fit.Functions {
		billed, runs := map[float64]float64{}, map[float64]float64{}
		for _, s := range samples[f.Name] {
			billed[s.MB] += tariff.Run(s.MB, s.Seconds)
			runs[s.MB]++
		}
		var cv float64 // a function has one
		for _, s := range f.Sizes {
			cv += s.SD / s.Mean / float64(len(f.Sizes))
		}
		for _, s := range f.Sizes {
			measured := billed[s.MB] / runs[s.MB]
			off := func(usd float64) float64 { return 100 * math.Abs(usd/measured-1) }
			chosen = append(chosen, off(tariff.Expected(s.MB, bill.Lognormal{M: s.Predicted, CV: cv})))
			published = append(published, off(tariff.OfMean(s.MB, s.Published)))
		}
	}
	slices.Sort(chosen)
	slices.Sort(published)
	return chosen, published
}
