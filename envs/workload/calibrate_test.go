package workload

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// Ten days drawn from the fit to the embedded day: near the trace in every figure that is fitted, where a Poisson
// process of its mean is far away. The bounds leave room for what ten days of rare peaks vary by.
func TestCalibratedGoodness(t *testing.T) {
	s := configured(t, func(c *Config) { c.Kind, c.Length = Calibrated, 14400 })
	g := must.Get(s.Goodness(1))(t)
	tr, dr := g.Total.Trace, g.Total.Drawn
	if tr.Total != 179342 {
		t.Errorf("the trace's side has %d invocations", tr.Total)
	}
	for _, c := range []struct {
		what       string
		drawn, is  float64
		lowest, up float64
	}{
		{"mean", dr.Mean, tr.Mean, 0.95, 1.05},
		{"CV", dr.CV, tr.CV, 0.85, 1.2},
		{"dispersion", dr.Dispersion, tr.Dispersion, 0.7, 1.4},
		{"dispersion over 10 minutes", dr.Dispersion10, tr.Dispersion10, 0.6, 1.4},
		{"lag-1 correlation", dr.Lag1, tr.Lag1, 0.6, 1.3},
	} {
		if r := c.drawn / c.is; !(r >= c.lowest && r <= c.up) {
			t.Errorf("%s is %.3g where the trace has %.3g", c.what, c.drawn, c.is)
		}
	}
	if g.Total.KSCounts > 0.06 || g.Total.KSGaps > 0.05 {
		t.Errorf("KS distances are %.3f and %.3f", g.Total.KSCounts, g.Total.KSGaps)
	}
	poisson := configured(t, func(c *Config) { c.Kind, c.Rate, c.Length = Poisson, 179342.0/1440/60, 14400 })
	p := must.Get(CompareWith(poisson, s.Trace(), 1))(t)
	if p.Total.KSCounts < 0.3 || p.Total.Drawn.Dispersion > 1.2 {
		t.Errorf("a Poisson process has KS distance %.3f and dispersion %.3g: the comparison tells nothing", p.Total.KSCounts,
			p.Total.Drawn.Dispersion)
	}
	if _, err := poisson.Goodness(1); err == nil {
		t.Error("a source without a trace was compared with it")
	}
	for _, want := range []string{"mean per minute", "dispersion, 60 min", "KS distance of counts 0.0"} {
		if !strings.Contains(g.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, g)
		}
	}
	b, err := json.Marshal(g)
	if err != nil || !strings.Contains(string(b), `"ks_counts":0.0`) || !strings.Contains(string(b), `"dispersion":`) {
		t.Errorf("as JSON: %.200s (%v)", b, err)
	}
}

// The trace itself agrees with itself: counts exactly, gaps within sampling.
func TestTraceGoodness(t *testing.T) {
	g := must.Get(configured(t, func(c *Config) { c.Streams = StreamsFunction }).Goodness(1))(t)
	if g.Total.KSCounts != 0 || g.Total.KSGaps > 0.01 || len(g.Streams) != 50 {
		t.Errorf("distances are %v and %v over %d streams", g.Total.KSCounts, g.Total.KSGaps, len(g.Streams))
	}
	for _, s := range g.Streams {
		if s.KSCounts != 0 || s.Trace != s.Drawn {
			t.Errorf("%s differs from itself", s.Name)
		}
	}
}

// A known process is found again: a sine over the day, times a multiplier of 1 or 3 that a minute keeps with
// probability 0.8.
func TestFitFindsItsOwnLaw(t *testing.T) {
	profile := make([]float64, day)
	for p := range profile {
		profile[p] = 40 + 20*math.Sin(2*math.Pi*float64(p)/day)
	}
	truth := &calibratedProcess{fits: []fit{{profile: profile, multiplier: []float64{1, 3}, rho: 0.8, mean: 2}},
		length: 30 * day, factor: 1}
	drawn, _ := tallies(truth, 5)
	counts := make([]uint32, truth.length)
	for m, c := range drawn[0].counts {
		counts[m] = uint32(c)
	}
	f := fitCounts(counts, 60)
	if math.Abs(f.rho-0.8) > 0.02 {
		t.Errorf("rho is %v, want 0.8", f.rho)
	}
	for p := 0; p < day; p += 100 {
		// 30 days times 60 minutes, each correlated over about nine minutes: 200 draws of mean 2 and deviation 1.
		if want := 2 * profile[p]; math.Abs(f.profile[p]/want-1) > 5*0.5/math.Sqrt(200) {
			t.Errorf("the profile has %v in minute %d, want %v", f.profile[p], p, want)
		}
	}
	lower, upper := f.multiplier[len(f.multiplier)/4], f.multiplier[len(f.multiplier)*3/4]
	if math.Abs(lower-0.5) > 0.06 || math.Abs(upper-1.5) > 0.12 {
		t.Errorf("the multiplier's quartiles are %v and %v, want 0.5 and 1.5 of the profile", lower, upper)
	}
}

// Series too short, too idle or too regular to fit still give a process.
func TestFitCorners(t *testing.T) {
	for name, counts := range map[string][]uint32{
		"idle": make([]uint32, 100), "one minute": {7}, "once": append(make([]uint32, 99), 4), "steady": {5, 5, 5, 5, 5, 5},
	} {
		tr := &Trace{Name: name, Minutes: len(counts), Functions: []Function{{Name: "f", Counts: counts}}}
		l := calibrate(tr, 60, 20000, 1, Exponential)
		streams, _ := tallies(l, 1)
		want := float64(tr.Total()) / float64(len(counts))
		got := Describe(streams[0].counts)
		if math.Abs(got.Mean-want) > 0.1*want || name == "steady" && got.Peak != 5 {
			t.Errorf("%s: drawn are %s, want mean %v", name, got, want)
		}
		if e := l.expected(0, 3); name == "idle" && e != 0 || name == "steady" && !nearly(e, 5) {
			t.Errorf("%s: expected %v", name, e)
		}
	}
}
