package bench

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// A small day has about the expected number of requests and obeys Little's law, and its figures are consistent.
func TestDay(t *testing.T) {
	var seen []int
	o := Day{Functions: 120, Hours: 1.5, Factor: 0.5, Progress: func(done, all int) { seen = append(seen, done, all) }}
	r := must.Get(o.Run())(t)
	if r.Functions != 120 || r.Hours != 1.5 || r.Requests < 1000 || r.Nanoseconds <= 0 || r.Silent < 1 || r.Silent > 110 {
		t.Errorf("%+v", r)
	}
	// Bursts spread totals: over seeds 1 to 20 the requests were 0.86 to 1.52 times the expected ones, this seed's 0.92.
	if ratio := float64(r.Requests) / r.Expected; ratio < 0.8 || ratio > 1.6 {
		t.Errorf("%d requests, the law gives %g", r.Requests, r.Expected)
	}
	// Requests under way at the end have not been served in full: 0.98 to 1.01 over the same seeds.
	if r.Busy > 1.05*r.Little || r.Busy < 0.95*r.Little {
		t.Errorf("%g instances are busy, %g by Little's law", r.Busy, r.Little)
	}
	if r.Instances <= r.Busy || math.Abs(r.Utilisation-r.Busy/r.Instances) > 1e-12 || r.Cold <= 0 || r.Cold > 0.9 || len(r.ColdQuartiles) != 3 {
		t.Errorf("%+v", r)
	}
	if r.TopShare < 0.5 || r.TopShare > 1 || r.SampleTopShare < 0.8 || r.P99 < r.Median || r.Median <= 0 {
		t.Errorf("%+v", r)
	}
	if n := len(seen); n < 20 || seen[n-2] != 90 || seen[n-1] != 90 {
		t.Errorf("progress was told %v", seen)
	}
	again, err := Day{Functions: 120, Hours: 1.5, Factor: 0.5}.Run()
	if err != nil || again.Requests != r.Requests || again.Busy != r.Busy || again.P99 != r.P99 {
		t.Errorf("the same day gave %+v, then %+v: %v", r, again, err)
	}
	line, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(line), `"bench":"sim-day"`) || !strings.Contains(string(line), `"requests_per_second":`) {
		t.Errorf("%s, %v", line, err)
	}
}

// The distribution of durations has the trace's percentiles, and its mean is that of its table.
func TestDurations(t *testing.T) {
	l := durations(&workload.Duration{P0: 10, P1: 20, P25: 100, P50: 200, P75: 400, P99: 1000, P100: 5000})
	for k, want := range map[int]float64{0: 0.010, 1: 0.020, 13: 0.060, 25: 0.1, 50: 0.2, 75: 0.4, 99: 1, 100: 5} {
		if got := l.Table[k]; math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %d %% is %g s, want %g", k, got, want)
		}
	}
	// 1 % at 0.015 on average, 24 % at 0.06, 25 % at 0.15, 25 % at 0.3, 24 % at 0.7, 1 % at 3.
	if got, want := mean(l.Table), 0.00015+0.0144+0.0375+0.075+0.168+0.03; math.Abs(got-want) > 1e-12 {
		t.Errorf("the mean is %g s, want %g", got, want)
	}
}

func TestDayRefuses(t *testing.T) {
	for want, o := range map[string]Day{
		"--functions is -1": {Functions: -1}, "--hours is 400": {Hours: 400}, "--hours is NaN": {Hours: math.NaN()},
		"--factor is -2": {Factor: -2},
	} {
		if _, err := o.Run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}
