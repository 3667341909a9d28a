package variants

import (
	"math"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// AzureLoad is the [EnvConfig.Load] of functions of the embedded Azure sample.
const AzureLoad = workload.Azure2019

// fewest is how many invocations a day a function of the sample has at least, to be a load.
const fewest = 200

// ofAzure is the load of a function of the sample, of those with as many invocations a day as the rate or more, thinned to
// the rate: a larger factor than 1 would make bursts that no function had. The day repeats. The period begins at a minute
// of the day, after the warm-up, and ends with the minute that has brought so many requests: few minutes have the most.
func ofAzure(key rng.Key, rate float64, requests int, warmup float64) (*workload.Source, Period, error) {
	t, err := workload.Embedded()
	if err != nil {
		return nil, Period{}, err
	}
	c := workload.Default()
	c.Mean = rate
	daily := rate * 60 * float64(t.Minutes)
	var names []string
	for i := range t.Functions {
		if f := &t.Functions[i]; float64(f.Total()) >= max(fewest, daily) {
			names = append(names, f.Name)
		}
	}
	c.Functions.Names = []string{names[key.With(4).IntN(len(names))]}
	p := Period{Start: float64(key.With(5).IntN(t.Minutes)), Warmup: warmup}
	from := int(p.Start + p.Warmup)
	source, err := workload.Open(c)
	if err == nil { // a day more than the period can last
		source, err = source.Repeat(from + t.Minutes*(2+int(math.Ceil(float64(requests)/daily))))
	}
	if err != nil {
		return nil, p, err
	}
	for n := 0.0; n < float64(requests); p.Minutes++ {
		n += source.Expected(0, from+int(p.Minutes))
	}
	return source, p, nil
}
