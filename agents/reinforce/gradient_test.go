package reinforce

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/tools/proof"
)

// collector is a learner that never updates: it collects batches of trajectories, whose gradients tests look at.
type collector struct {
	t testing.TB
	l *Learner
	v *envs.Vector
}

func newCollector(t testing.TB, c Config, copies int, build func() (envs.Env, error)) *collector {
	t.Helper()
	v := must.Get(envs.NewVector(build, envs.VectorOptions{NumEnvs: copies, Seed: 1}))(t)
	e := native.New(native.Options{Threads: 1})
	l := must.Get(New(c, agents.Context{Spec: v.Spec(), NumEnvs: copies, Train: e, Act: e, Seed: 1, Steps: 1}))(t)
	must.Do(t, v.Reset())
	return &collector{t, l, v}
}

// next acts until Episodes trajectories have finished.
func (c *collector) next() {
	c.t.Helper()
	for len(c.l.store.done) < c.l.c.Episodes {
		for _, do := range []func() error{func() error { return c.l.Act(c.v) }, c.v.Step,
			func() error { return c.l.Observe(c.v) }} {
			if err := do(); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// gradient is ∇J of what has finished, under a baseline.
func (c *collector) gradient(baseline Baseline) []float64 {
	c.t.Helper()
	before := c.l.c.Baseline
	c.l.c.Baseline = baseline
	defer func() { c.l.c.Baseline = before }()
	if err := c.l.prepare(); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.l.m.policyGradient(&c.l.batch); err != nil {
		c.t.Fatal(err)
	}
	grads := c.l.m.(*vectors).u.policy.Net.Grads()
	g := make([]float32, nets.Size(grads))
	grads.Get(g)
	out := make([]float64, len(g))
	for i, x := range g {
		out[i] = -float64(x)
	}
	return out
}

// arms are five, with rewards that lie off zero, as costs and returns do.
var arms = classic.BanditConfig{Means: []float64{1.5, 0.5, 1, 2, 0}, Deviation: 1}

// bandit is a collector of pulls under a fixed policy, softmax of logits, and a value of 1.
func bandit(t testing.TB, baseline Baseline, pulls int, logits []float32) *collector {
	t.Helper()
	c := Default()
	c.Hidden, c.Baseline, c.Lambda, c.Entropy, c.Episodes = nil, baseline, 1, 0, pulls
	b := newCollector(t, c, 8, func() (envs.Env, error) { return classic.NewBandit(arms) })
	// One number is seen, always 1: the network's weights and biases are logits.
	b.l.m.(*vectors).u.policy.Net.Params().Set(append(make([]float32, len(logits)), logits...))
	if baseline == Value {
		b.l.m.(*vectors).u.value.Net.Params().Set([]float32{0, 1})
	}
	must.Do(t, b.l.m.Sync())
	return b
}

var someLogits = []float32{0.3, -0.5, 0, 0.8, 0.1}

// TestBanditGradient holds the estimated gradient against π_i(μ_i − Σ π_j μ_j), for each baseline. The mean over a
// sequence holds each pull's own reward, which shrinks the gradient by 1/n in batches of n: DeepRM's law, told apart
// here.
func TestBanditGradient(t *testing.T) {
	var logits []float64
	for _, x := range someLogits {
		logits = append(logits, float64(x))
	}
	want := arms.Gradient(logits)
	const pulls, batches = 40, 2_000
	// Each component's interval, so that all five hold together with 95 %.
	quantile := distuv.StudentsT{Sigma: 1, Nu: batches - 1}.Quantile(1 - 0.025/float64(len(want)))
	for _, k := range []struct {
		baseline Baseline
		share    float64
	}{{None, 1}, {Value, 1}, {Sequence, 1 - 1./pulls}} {
		b := bandit(t, k.baseline, pulls, someLogits)
		seen := make([][]float64, len(want))
		for range batches {
			b.next()
			g := b.gradient(k.baseline)
			b.l.store.release()
			for i := range seen {
				seen[i] = append(seen[i], g[len(want)+i]) // by the biases
			}
		}
		worst, half := 0.0, 0.0
		for i, x := range seen {
			mean, sd := stat.MeanStdDev(x, nil)
			h := quantile * sd / math.Sqrt(batches)
			worst, half = max(worst, math.Abs(mean-k.share*want[i])/h), max(half, h)
		}
		what := "the analytic one"
		if k.share != 1 {
			what = fmt.Sprintf("(1 − 1/%d) of the analytic one", pulls)
		}
		proof.Claim(t, proof.Row{
			Topic: "agents",
			Claim: fmt.Sprintf("REINFORCE, baseline %s: gradient on a five-armed bandit, %d batches of %d pulls, against %s",
				k.baseline, batches, pulls, what),
			Bound:    "each component within its interval (95 % for all five)",
			Measured: fmt.Sprintf("at most %.2f of its interval, ± %.4f", worst, half), Holds: worst <= 1,
		})
	}
}

// TestBaselineLowersVariance compares gradients of the same batches with and without the value, pair by pair, by their
// squared distance from the mean of their kind: the mean of these is the trace of the covariance.
func TestBaselineLowersVariance(t *testing.T) {
	pulls := bandit(t, Value, 40, someLogits)
	compare(t, pulls, "a five-armed bandit, batches of 40 pulls", 400)

	// CartPole under a policy that has learned a little, with the value that it has.
	c := Default()
	c.RewardScale, c.Rate, c.ValueRate, c.Lambda, c.Entropy, c.ValueUpdates = 0.02, 5e-3, 5e-3, 1, 0, 8
	pole := newCollector(t, c, 8, func() (envs.Env, error) { return classic.NewCartPole(classic.DefaultCartPole()) })
	for range 10 {
		pole.next()
		must.Do(t, pole.l.Update())
	}
	compare(t, pole, "CartPole-v1 after ten updates, batches of 8 episodes", 60)
}

func compare(t *testing.T, c *collector, where string, batches int) {
	t.Helper()
	var with, without [][]float64
	for range batches {
		c.next()
		with, without = append(with, c.gradient(Value)), append(without, c.gradient(None))
		c.l.store.release()
	}
	a, b := apart(with), apart(without)
	differ := make([]float64, batches)
	for i := range differ {
		differ[i] = b[i] - a[i]
	}
	mean, sd := stat.MeanStdDev(differ, nil)
	n := float64(batches)
	p := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Survival(mean / (sd / math.Sqrt(n)))
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: "REINFORCE: the value baseline lowers the variance of the gradient, " + where,
		Bound: "p < 0.01 (paired t test, one-sided)",
		Measured: fmt.Sprintf("%.2f of the variance without, p = %.1g (%d batches)", stat.Mean(a, nil)/stat.Mean(b, nil), p,
			batches), Holds: p < 0.01,
	})
}

// apart is each vector's squared distance from their mean.
func apart(x [][]float64) []float64 {
	mean := make([]float64, len(x[0]))
	for _, v := range x {
		for i := range v {
			mean[i] += v[i] / float64(len(x))
		}
	}
	out := make([]float64, len(x))
	for k, v := range x {
		for i := range v {
			out[k] += (v[i] - mean[i]) * (v[i] - mean[i])
		}
	}
	return out
}
