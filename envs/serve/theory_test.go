package serve_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// latencies serves a load and returns the latencies of the requests that end, in batches of a period, in seconds.
func latencies(t *testing.T, c serve.Config, batches int, period sim.Time) [][]float64 {
	t.Helper()
	var k book
	c.Hooks.Ended = k.end
	k.walk = newWalk(t, c)
	ok(t, k.walk.Reset(9))
	k.walk.Load(0, 0)
	k.walk.Begin(0)
	var out [][]float64
	for i := range batches + 1 {
		until := sim.Time(i+1) * period
		k.walk.Open(until)
		ok(t, k.walk.Run(until))
		var batch []float64
		for _, e := range k.ended {
			batch = append(batch, e.latency.Seconds())
		}
		k.ended = k.ended[:0]
		if i > 0 { // the first fills the system
			out = append(out, batch)
		}
	}
	return out
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func p95(x []float64) float64 {
	slices.Sort(x)
	return x[int(0.95*float64(len(x)))]
}

// agree checks that the mean of independent batches is what theory says: within 4 standard errors, a chance of 1 in
// 10,000, and these are small enough to matter.
func agree(t *testing.T, what string, batches [][]float64, of func([]float64) float64, want, precision float64) {
	t.Helper()
	var x []float64
	for _, b := range batches {
		x = append(x, of(b))
	}
	m, sq := mean(x), 0.0
	for _, v := range x {
		sq += (v - m) * (v - m)
	}
	n := float64(len(x))
	half := 4 * math.Sqrt(sq/(n-1)/n)
	if !(math.Abs(m-want) <= half) || half > precision*want {
		t.Errorf("%s: %.4f ± %.4f, theory says %.4f (and ± %.0f %%)", what, m, half, want, 100*precision)
	}
}

// An M/G/1 queue, then as many servers as needed: the mean is Pollaczek and Khinchine's, plus the mean services.
func TestQueueThenDelay(t *testing.T) {
	const rate, service, cv, second = 6.0, 0.1, 1.2, 0.3
	flow := compile(t, workflow.New("chain", workflow.Chain("queue", "delay")))
	platform := pools(flow, 1)
	platform.Functions[1] = servers("delay", sim.NoLimit)
	key := rng.New(1, "test/work")
	v := portable.Log1p(cv * cv)
	c := serve.Config{Flow: flow, Platform: platform, Source: poisson(t, rate, 6000), Hooks: serve.Hooks{
		Work: func(v0 *serve.Visit) (float64, uint64) {
			k := v0.Key(key)
			if v0.Node == 1 {
				return second * k.Exp(), k.Uint64()
			}
			return service * portable.Exp(math.Sqrt(v)*k.Norm()-v/2), k.Uint64()
		},
	}}
	rho := rate * service
	want := rate*service*service*(1+cv*cv)/(2*(1-rho)) + service + second
	agree(t, "mean latency", latencies(t, c, 60, sim.Hour/3), mean, want, 0.03)
}

// Three M/M/1 queues in a row: a request's times at them are independent and exponential (Burke; Reich), so that the
// distribution of the latency is known too. A node that runs again with a probability makes a Jackson network: only its
// mean is.
func TestTandem(t *testing.T) {
	const rate = 3.0
	service := []float64{0.1, 0.15, 0.05}
	gamma := make([]float64, 3) // rates of the exponential times at the queues
	var want float64
	for i, s := range service {
		gamma[i] = 1/s - rate
		want += 1 / gamma[i]
	}
	above := func(x float64) float64 { // hypoexponential
		var sum float64
		for i, g := range gamma {
			w := 1.0
			for j, h := range gamma {
				if j != i {
					w *= h / (h - g)
				}
			}
			sum += w * math.Exp(-g*x)
		}
		return sum
	}
	low, high := 0.0, 10.0
	for high-low > 1e-9 {
		if mid := (low + high) / 2; above(mid) > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	flow := compile(t, workflow.New("tandem", workflow.Chain("a", "b", "c")))
	c := serve.Config{Flow: flow, Platform: pools(flow, 1), Source: poisson(t, rate, 6000),
		Hooks: serve.Hooks{Work: exponential(rng.New(2, "test/work"), service...)}}
	got := latencies(t, c, 60, sim.Hour/3)
	agree(t, "mean of three queues", got, mean, want, 0.02)
	agree(t, "p95 of three queues", got, p95, low, 0.03)

	const again = 0.3
	flow = compile(t, workflow.New("feedback", workflow.Chain("a", "b"), workflow.Repeat("b", "b", again),
		workflow.Choice("b", workflow.To("c", 1-again))))
	want = 0
	runs := flow.FunctionExecutions()
	for i, s := range service {
		want += runs[i] / (1/s - rate*runs[i])
	}
	c.Flow = flow
	agree(t, "mean with feedback", latencies(t, c, 60, sim.Hour/3), mean, want, 0.05)
}
