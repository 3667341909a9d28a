package sim

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// simfaas is SimFaaS's published case: exponential service of 1.991 s warm and 2.244 s cold, expiry after 600 s idle
// (Mahmoudi and Khazaei, SimFaaS, 2021). Its cold service is ours plus a cold start of the difference. It takes the
// newest idle instance, we the one used last.
func simfaas() Config {
	return Config{Functions: []Function{{
		Demand: Law{Kind: Exponential, Mean: 1.991}, ColdStart: Law{Kind: Exponential, Mean: 2.244 - 1.991},
		BindCold: true, KeepAlive: 600 * Second, Sizing: Sizing{Concurrency: 1, Speed: 1, Max: 1000},
	}}}
}

// published are the case's figures at 0.9 requests a second: cold starts in per cent of requests, and the mean number
// of instances.
var published = [2]float64{0.14, 7.66}

// simfaasRuns measures the case over windows of a length.
func simfaasRuns(t *testing.T, window Time) (mean, deviation []float64) {
	s := mustNew(t, simfaas(), 8)
	p := &poisson{t: t, key: rng.New(8, "arrivals"), rate: 0.9, limit: math.MaxUint64}
	p.start(s)
	return windows(s, p, window, window,
		func(m *Meter) float64 { return 100 * float64(m.Cold) / float64(m.Started) }, (*Meter).Instances)
}

// The published figures come from one run of 10⁶ s. Ours of 40 windows gives the interval in which such a run must lie:
// its own noise and that of our mean. The two intervals hold together with 95 %.
func TestSimFaaS(t *testing.T) {
	const horizon = 1e6
	window := 10 * Hour
	if *long {
		window = MaxSpan // some 76 hours
	}
	mean, sd := simfaasRuns(t, window)
	factor := distuv.StudentsT{Sigma: 1, Nu: windowCount - 1}.Quantile(1 - 0.05/4)
	total := windowCount * window.Seconds()
	var half [2]float64
	holds := true
	for i := range half {
		half[i] = factor * sd[i] * math.Sqrt(1+total/horizon)
		holds = holds && math.Abs(mean[i]-published[i]) <= half[i] && half[i] < 0.2*published[i]
	}
	proof.Claim(t, proof.Row{
		Topic: "simulator",
		Claim: "SimFaaS's published case (0.9 requests/s, 1.991 s warm, 2.244 s cold, expiry 600 s): 0.14 % cold starts, 7.66 instances",
		Bound: "inside our interval for a run of 10⁶ s (two at 95 % together)",
		Measured: fmt.Sprintf("%.4f %% ± %.4f and %.3f ± %.3f, from %.3g s (%.2g requests); our means are known to ± %.4f and ± %.4f",
			mean[0], half[0], mean[1], half[1], total, 0.9*total, factor*sd[0], factor*sd[1]),
		Holds: holds,
	})
	if *long {
		besideSimFaaS(t, mean, sd)
	}
}

// peer is what SimFaaS 0.2.2 itself gave in runs of 10⁶ s with max_time=1e6 and np.random.seed(1) to seed(10): cold
// starts in per cent, instances.
var peer = [2][]float64{
	{0.13890, 0.13672, 0.13074, 0.13731, 0.13266, 0.13261, 0.13667, 0.12653, 0.13073, 0.13440},
	{7.70335, 7.70405, 7.70062, 7.69883, 7.67231, 7.68743, 7.75045, 7.66880, 7.68057, 7.68652},
}

// besideSimFaaS compares our means with those of SimFaaS's own runs, which know them better than the published run
// does.
func besideSimFaaS(t *testing.T, mean, sd []float64) {
	n := float64(len(peer[0]))
	factor := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1 - 0.05/4)
	var theirs, half [2]float64
	holds := true
	for i, runs := range peer {
		m, v := stat.MeanVariance(runs, nil)
		theirs[i], half[i] = m, factor*math.Hypot(sd[i], math.Sqrt(v/n))
		holds = holds && math.Abs(mean[i]-m) <= half[i]
	}
	proof.Claim(t, proof.Row{
		Topic: "simulator",
		Claim: fmt.Sprintf("the same case against SimFaaS 0.2.2's own code, %g runs of 10⁶ s", n),
		Bound: "difference of means inside its interval (two at 95 % together)",
		Measured: fmt.Sprintf("cold starts %.4f %% and theirs %.4f %%, apart by %.4f ± %.4f; instances %.4f and %.4f, apart by %.4f ± %.4f",
			mean[0], theirs[0], mean[0]-theirs[0], half[0], mean[1], theirs[1], mean[1]-theirs[1], half[1]),
		Holds: holds,
	})
}
