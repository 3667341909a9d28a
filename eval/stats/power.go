package stats

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// Variation holds two standard deviations, in the metric's unit. Seeds is that of a method's scores over training
// seeds; Workloads is that of one trained policy's paired differences over workloads.
type Variation struct{ Seeds, Workloads float64 }

// Pilot estimates the variation of the difference a − b: Seeds from the training seeds of both, Workloads within each
// pair of training seeds. Seeds is NaN where neither has more than one.
func Pilot(a, b Scores) Variation {
	var v Variation
	v.Seeds = math.NaN()
	seeds, several := 0.0, false
	for _, s := range []Scores{a, b} {
		if len(s) > 1 {
			seeds, several = seeds+variance(s.rowMeans()), true
		}
	}
	sum, n := 0.0, 0
	diff := make([]float64, len(a[0]))
	for _, x := range a {
		for _, y := range b {
			for j := range diff {
				diff[j] = x[j] - y[j]
			}
			if len(diff) > 1 {
				sum, n = sum+variance(diff), n+1
			}
		}
	}
	v.Workloads = math.Sqrt(sum / float64(n))
	if several { // take off the part of the seeds' variance that comes from workloads
		v.Seeds = math.Sqrt(max(0, seeds-sum/float64(n)/float64(len(diff))))
	}
	return v
}

// Plan is a comparison to be made.
type Plan struct {
	// Effect is the true mean difference, in the unit of Variation.
	Effect float64
	Variation
	// TrainingSeeds is the method's number of them, 1 where the verdict is about one checkpoint; a baseline has one row.
	// Method and baselines share the WorkloadSeeds.
	TrainingSeeds, WorkloadSeeds int
	// Baselines is the size of the family for Holm's correction and the simultaneous interval. All baselines are taken to be
	// equally hard to beat.
	Baselines int
}

// Check returns an error that names the plan's impossible values.
func (p Plan) Check() error {
	switch {
	case p.TrainingSeeds < 1 || p.WorkloadSeeds < 1 || p.Baselines < 1:
		return fmt.Errorf("stats: %d training seeds, %d workload seeds, %d baselines, want at least 1 of each",
			p.TrainingSeeds, p.WorkloadSeeds, p.Baselines)
	case !(p.Workloads >= 0) || !(p.Seeds >= 0) || !finite(p.Effect):
		return fmt.Errorf("stats: deviations %g between training seeds and %g between workloads, effect %g: want "+
			"numbers, deviations not negative", p.Seeds, p.Workloads, p.Effect)
	}
	return nil
}

// Power is the fraction of simulated trials in which eval finds the true sign of the effect against the first baseline.
// With an effect of 0 it is the fraction of false verdicts. Scores are normal. The decision is [Comparison.Decided];
// interval and p are Student's: for normal scores they are as good as the stretched bootstrap and the sign-flip test,
// and need no resampling.
func Power(p Plan, trials int, key rng.Key) (float64, error) {
	if err := p.Check(); err != nil {
		return 0, err
	}
	hits := 0
	for t := range trials {
		c := p.trial(key.With(uint64(t)), student)
		if c.Decided() && (p.Effect == 0 || (c.SimultaneousLow > 0) == (p.Effect > 0)) {
			hits++
		}
	}
	return float64(hits) / float64(trials), nil
}

// trial simulates one evaluation and returns the comparison with the first baseline: the fields that Decided reads.
func (p Plan) trial(key rng.Key, decide func(a, b Scores, family int, key rng.Key) decision) Comparison {
	s := key.Stream()
	seeds := make([]float64, p.TrainingSeeds)
	if p.TrainingSeeds > 1 { // with one, the verdict is about that checkpoint: nothing is drawn
		for i := range seeds {
			seeds[i] = p.Seeds * s.Norm()
		}
	}
	deviation := p.Workloads / math.Sqrt2 // of each of the two scores in a difference
	a := make(Scores, p.TrainingSeeds)
	for i := range a {
		a[i] = make([]float64, p.WorkloadSeeds)
		for j := range a[i] {
			a[i][j] = p.Effect + seeds[i] + deviation*s.Norm()
		}
	}
	family := make([]decision, p.Baselines)
	ps := make([]float64, p.Baselines)
	for k := range family {
		b := Scores{make([]float64, p.WorkloadSeeds)}
		for j := range b[0] {
			b[0][j] = deviation * s.Norm()
		}
		family[k] = decide(a, b, p.Baselines, key.With(uint64(k)))
		ps[k] = family[k].p
	}
	return Comparison{PHolm: Holm(ps)[0], SimultaneousLow: family[0].low, SimultaneousHigh: family[0].high}
}

// decision holds the numbers that a verdict depends on.
type decision struct{ p, low, high float64 }

func student(a, b Scores, family int, _ rng.Key) decision {
	diff := differences(a, b)
	c, mean := errorVarianceOf(a, b, diff), Mean(diff)
	half := c.halfWidth(tail / float64(family))
	// n signs flip in 2ⁿ ways, and the smallest two-sided p is 2/2ⁿ.
	return decision{max(c.p(mean), math.Pow(2, 1-float64(len(diff)))), mean - half, mean + half}
}
