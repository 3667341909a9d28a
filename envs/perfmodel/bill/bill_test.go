package bill_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// AWS's printed prices per 100 ms.
func TestTable(t *testing.T) {
	tariff := bill.LambdaTable()
	for mb, want := range map[float64]float64{128: 2.08e-7, 192: 3.13e-7, 512: 8.34e-7, 576: 9.38e-7, 896: 1.459e-6,
		1024: 1.667e-6, 1536: 2.501e-6, 2048: 3.334e-6, 3008: 4.897e-6} {
		near(t, "a step", tariff.Run(mb, 0.05)-tariff.Request, want, 1e-9)
	}
}

// BASELINES: 1,000 ms with 1 GB are 1.687e-5 USD; OptiServe's eq. 3.2 as printed gives ten times the part for time.
func TestRun(t *testing.T) {
	near(t, "a second with a GB", bill.Lambda100().Run(1024, 1), 1.68667e-5, 1e-9)
	near(t, "101 ms in steps of 100", bill.Lambda100().Run(1024, 0.101), 2*1.66667e-6+2e-7, 1e-9)
	near(t, "300 ms in steps of 100", bill.Lambda100().Run(1024, 0.1+0.2), 3*1.66667e-6+2e-7, 1e-9)
	near(t, "101 ms in steps of 1", bill.Lambda().Run(1024, 0.101), 101*1.66667e-8+2e-7, 1e-9)
}

// The expectation of the rounded time: closed forms, and a sample against its own law.
func TestExpected(t *testing.T) {
	tariff := bill.Tariff{GBSecond: 1, Step: 0.1}
	// Uniform on [0.15, 0.25]: half of the runs bill 2 steps, half 3.
	q := bill.Quantiles{P: []float64{0, 1}, Seconds: []float64{0.15, 0.25}}
	near(t, "uniform", tariff.Expected(1024, q), 0.25, 1e-9)
	near(t, "of the mean", tariff.OfMean(1024, q.Mean()), 0.2, 1e-9)
	near(t, "constant", tariff.Expected(1024, bill.Always(0.2)), 0.2, 1e-9)
	// Far above the step, rounding adds half a step.
	l := bill.Lognormal{M: 3, CV: 0.3}
	near(t, "lognormal", tariff.Expected(1024, l), 3.05, 1e-4)
	s := rng.NewStream(3, "test/times")
	times := make([]float64, 200000)
	v := math.Log1p(0.3 * 0.3)
	for i := range times {
		times[i] = 0.12 * math.Exp(math.Sqrt(v)*s.Norm()-v/2)
	}
	runs := must.Get(bill.NewRuns(times))(t)
	near(t, "sampled", tariff.Expected(1024, runs), tariff.Expected(1024, bill.Lognormal{M: 0.12, CV: 0.3}), 5e-3)
	var above float64
	for k := 0.0; k < 100; k++ {
		above += runs.Above(k * 0.1)
	}
	near(t, "sum of tails", above, runs.Steps(0.1), 1e-9)
}

// A lognormal time's steps are the sum of probabilities, and are found for long times too.
func TestLognormalSteps(t *testing.T) {
	for _, cv := range []float64{0, 1e-9, 0.001, 0.05, 0.29, 0.31, 1, 3} {
		for _, mean := range []float64{0.3, 2, 31, 400} {
			if cv*mean > 400 {
				continue // ten million steps
			}
			l := bill.Lognormal{M: mean, CV: cv}
			want := bill.Steps(plain{l}, 1)
			if cv == 0 {
				want = math.Ceil(mean)
			}
			near(t, fmt.Sprintf("mean %g, cv %g", mean, cv), l.Steps(1), want, 1e-12)
		}
	}
	near(t, "a long time", bill.Lognormal{M: 1e9, CV: 2}.Steps(1), 1e9, 1e-6)
	near(t, "a long tail", bill.Lognormal{M: 500, CV: 10}.Steps(1), 500.502003075, 1e-11)
	near(t, "a very long tail", bill.Lognormal{M: 3e5, CV: 5}.Steps(1), 3e5+0.5, 1e-9)
	near(t, "a long time that hardly varies", bill.Lognormal{M: 1e8 + 0.5, CV: 1e-10}.Steps(1), 1e8+1, 1e-12)
}

// plain hides the short form.
type plain struct{ bill.Distribution }

func TestOrchestration(t *testing.T) {
	near(t, "standard", bill.Standard.Request(8, 0, bill.Always(1)), 2e-4, 1e-9)
	near(t, "express", bill.Express.Request(8, 0, bill.Always(2.65)), 1e-6+2.7*64/1024*1.667e-5, 1e-9)
	if got := bill.None.Request(8, 64, bill.Always(1)); got != 0 {
		t.Errorf("none costs %g", got)
	}
}

func TestWrong(t *testing.T) {
	_, none := bill.NewRuns(nil)
	_, negative := bill.NewRuns([]float64{1, -1})
	half := bill.Quantiles{P: []float64{0, 0.5}, Seconds: []float64{1, 3}}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no times":      {none, "no times"},
		"negative time": {negative, "time 1 is -1 s"},
		"step":          {bill.Tariff{Step: -1}.Validate(), "step is -1"},
		"digits":        {bill.Tariff{Digits: 1e-9}.Validate(), "digits"},
		"falls":         {bill.Quantiles{P: []float64{0, 0.5, 1}, Seconds: []float64{1, 3, 2}}.Validate(), "quantile 2"},
		"ends":          {half.Validate(), "from probability 0 to 1"},
		"orchestration": {bill.Orchestration("fast").Validate(), "express"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, c.err, c.want)
		}
	}
	for _, tariff := range []bill.Tariff{bill.Lambda(), bill.Lambda100(), bill.LambdaTable()} {
		if err := tariff.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// A quantile is where Above is what is left.
func TestQuantile(t *testing.T) {
	runs := must.Get(bill.NewRuns([]float64{4, 1, 3, 2}))(t)
	for p, want := range map[float64]float64{0: 1, 0.25: 1, 0.26: 2, 0.75: 3, 1: 4} {
		near(t, "runs", runs.Quantile(p), want, 0)
	}
	for _, law := range []bill.Invertible{bill.Lognormal{M: 2, CV: 0.5},
		bill.Quantiles{P: []float64{0, 0.5, 0.9, 1}, Seconds: []float64{1, 1.5, 3, 9}}} {
		for _, p := range []float64{0.01, 0.3, 0.5, 0.95} {
			near(t, "above the quantile", law.Above(law.Quantile(p)), 1-p, 1e-9)
		}
	}
	q := must.Get(bill.Quantiles{P: []float64{0, 0.9, 1}, Seconds: []float64{1, 2, 12}}.WithMean(1.6))(t)
	near(t, "the given mean", q.Mean(), 1.6, 1e-12)
	near(t, "its quantile", q.Quantile(0.9), 2, 0)
	near(t, "above the quantile", q.Above(q.Quantile(0.95)), 0.05, 1e-9)
	var sum float64
	for i := range 10000 {
		sum += q.Quantile((float64(i) + 0.5) / 10000)
	}
	near(t, "mean of the quantiles", sum/10000, 1.6, 1e-4)
	if _, err := q.WithMean(3.1); err == nil || !strings.Contains(err.Error(), "allow 1.1 to 3 s") {
		t.Errorf("a mean that the quantiles exclude: %v", err)
	}
	near(t, "constant", bill.Always(3).Quantile(0.1), 3, 0)
	near(t, "constant", bill.Lognormal{M: 3}.Quantile(0.1), 3, 0)
}
