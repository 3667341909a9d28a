package variants

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// azure is a configuration of plans that are served under Azure's counts.
func azure() EnvConfig {
	c := fewApps()
	c.World, c.Requests, c.Load = Served, 100, AzureLoad
	return c
}

func TestAzureContract(t *testing.T) {
	envtest.Run(t, func() (envs.Env, error) { return NewEach(azure(), nil) }, envtest.Options{Seeds: []uint64{1}, Steps: 60})
}

// A load of Azure has the platform and the mean rate of the other load, a period of as many requests as are wanted or a
// minute's more, and counts that vary more than those of a Poisson process. No count is above the sample's.
func TestAzureLoad(t *testing.T) {
	const requests = 400
	m := must.Get(generated(0, 3, 24))(t)
	sample := must.Get(workload.Embedded())(t)
	names, varied, starts := map[string]bool{}, 0, map[float64]bool{}
	const n = 60
	for number := range uint64(n) {
		s := must.Get(serviceOf(m, number, requests, AzureLoad))(t)
		own := must.Get(serviceOf(m, number, requests, ""))(t)
		if s.platform != own.platform || s.rate != own.rate || s.kind == workload.Poisson || s.period.Warmup != own.period.Warmup {
			t.Fatalf("%d: platform, rate and warm-up are %+v, %g and %g, want %+v, %g and %g", number, s.platform, s.rate,
				s.period.Warmup, own.platform, own.rate, own.period.Warmup)
		}
		c := s.source.Config()
		names[c.Functions.Names[0]], starts[s.period.Start] = true, true
		if c.Factor > 1 {
			t.Errorf("%d: the counts are multiplied by %v, want at most 1", number, c.Factor)
		}
		if err := s.period.validate(s.source.Minutes()); err != nil {
			t.Errorf("%d: %v", number, err)
		}
		var day, mean, last float64
		for minute := range sample.Minutes {
			day += s.source.Expected(0, minute)
		}
		if got := day / 60 / float64(sample.Minutes); got < 0.999*s.rate || got > 1.001*s.rate {
			t.Errorf("%d: a day has %g requests a second, want %g", number, got, s.rate)
		}
		counts := make([]uint64, int(s.period.Minutes))
		arrivals := must.Get(s.source.Arrivals(number))(t)
		from := int(s.period.Start + s.period.Warmup)
		for i := range counts {
			last = s.source.Expected(0, from+i)
			mean += last
		}
		if mean < requests || mean-last >= requests {
			t.Errorf("%d: the period has %g requests, %g in its last minute, want %d when that minute has come", number, mean, last, requests)
		}
		arrivals.SeekTo(int64(from) * workload.Minute)
		for {
			a, ok := arrivals.Next()
			i := int(a.Time/workload.Minute) - from
			if !ok || i >= len(counts) {
				break
			}
			counts[i]++
		}
		if width := int(4.0/60/s.rate) + 1; workload.Dispersion(counts, width) > 1.5 { // in windows of four requests or more
			varied++
		}
	}
	if len(names) < 8 || len(starts) < n/2 || varied < n/2 {
		t.Errorf("%d functions, %d starts, %d of %d with more variance than a Poisson process, want at least 8, %d and %d", len(names),
			len(starts), varied, n, n/2, n/2)
	}
	c := azure()
	c.World = ByMeans
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "load is azure2019, want none with world: means") {
		t.Errorf("a load without service: %v", err)
	}
}
