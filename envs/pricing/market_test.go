package pricing

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// course is where the market stands in each window of an episode, moved as the environment moves it, without the jobs.
type course struct{ sensitivity, place, price, capacity []float64 }

// inMarket is an environment with a market, of so many windows.
func inMarket(t testing.TB, m Market, windows int) *Pricing {
	t.Helper()
	c := Default()
	generated(&c)
	c.Market, c.Windows = m, windows
	return must.Get(New(c, workload.Default(), nil))(t)
}

// courseOf is the course of the market in an episode. Capacity is that at the beginnings of the windows.
func courseOf(t testing.TB, e *Pricing, seed uint64) (x course) {
	t.Helper()
	must.Do(t, e.Reset(seed, nil, envs.NewObservation(e.spec)))
	m := &e.cfg.Market
	for i := range e.cfg.Windows {
		at := e.market.next
		x.sensitivity, x.place = append(x.sensitivity, m.sensitivity(&at)), append(x.place, at.place)
		x.price, x.capacity = append(x.price, m.rivalPrice(&at)), append(x.capacity, e.capacity())
		e.moveMarket(int64(i) + 1)
		if e.slot += int64(e.cfg.Slots); m.fails() {
			e.fail()
		}
	}
	return x
}

// moments are the mean, the variance and the correlation at a lag.
func moments(x []float64, lag int) (mean, variance, correlation float64) {
	for _, y := range x {
		mean += y / float64(len(x))
	}
	for i, y := range x {
		variance += (y - mean) * (y - mean) / float64(len(x))
		if i >= lag {
			correlation += (y - mean) * (x[i-lag] - mean) / float64(len(x)-lag)
		}
	}
	return mean, variance, correlation / variance
}

// check compares with what moments should be. A correlation of exp(-k/memory) leaves samples/(2·memory) independent numbers, from
// which bounds of five standard errors follow.
func (l momentLaw) check(t *testing.T, what string, x []float64, lag int) {
	t.Helper()
	mean, variance, correlation := moments(x, lag)
	independent := float64(len(x)) / (2*l.memory + 1)
	near := func(name string, got, want, error float64) {
		t.Helper()
		if math.Abs(got-want) > 5*error {
			t.Errorf("%s: the %s is %.4f, want %.4f ± %.4f", what, name, got, want, 5*error)
		}
	}
	near("mean", mean, l.mean, math.Sqrt(l.variance/independent))
	near("variance", variance, l.variance, l.variance*math.Sqrt(l.excess/independent))
	near("correlation", correlation, l.correlation, math.Sqrt(1/independent))
}

// momentLaw has the closed form's moments. The variance of a squared deviation is excess times the squared variance.
type momentLaw struct{ mean, variance, correlation, memory, excess float64 }

// Each process has the mean, the variance and the correlation of its closed form.
func TestMarketLaws(t *testing.T) {
	const windows, lag = 60_000, 4
	m := Market{
		Sensitivity: Sensitivity{Drift: WalkDrift, Low: 0.5, High: 1.7, Memory: 6},
		Failures:    Failures{Share: 0.25, Between: 9, Repair: 3},
		Rival:       Rival{Price: 1.3, Spread: 0.4, Memory: 5},
	}
	x := courseOf(t, inMarket(t, m, windows), 1)

	// The reflected walk: uniform, and cos(kπ·place) falls by exp(-k²/memory) in a window. The place is 1/2 less the sum of
	// 4/(kπ)²·cos(kπ·place) over odd k, and the cosine has the variance 1/2.
	var covariance float64
	for k := 1.0; k < 400; k += 2 {
		covariance += 8 / math.Pow(k*math.Pi, 4) * math.Exp(-k*k*lag/m.Sensitivity.Memory)
	}
	momentLaw{1.1, 1.2 * 1.2 / 12, covariance * 12, 6, 0.8}.check(t, "walk", x.sensitivity, lag)
	var cosine []float64
	for _, u := range x.place {
		cosine = append(cosine, math.Cos(math.Pi*u))
	}
	momentLaw{0, 0.5, math.Exp(-lag / 6.0), 6, 0.5}.check(t, "cosine of the walk", cosine, lag)

	// The rival: the price is lognormal.
	v, r := 0.16, math.Exp(-lag/5.0)
	grow := math.Exp(v) - 1
	momentLaw{1.3, 1.3 * 1.3 * grow, (math.Exp(v*r) - 1) / grow, 5, 5.3}.check(t, "rival", x.price, lag)
	var logs []float64
	for _, p := range x.price {
		logs = append(logs, math.Log(p/1.3))
	}
	momentLaw{-v / 2, v, r, 5, 2}.check(t, "logarithm of the rival", logs, lag)

	// Failures: a Markov chain with the rates 1/between and 1/repair, seen once in a window.
	memory := 1 / (1.0/9 + 1.0/3)
	momentLaw{1 - 0.25*0.25, 0.25 * 0.25 * 0.75 * 0.25, math.Exp(-lag / memory), memory, 1.33}.check(t, "capacity", x.capacity, lag)

	// Regimes: as likely.
	m.Sensitivity.Drift = RegimesDrift
	momentLaw{1.1, 0.36, math.Exp(-lag / 6.0), 6, 0.01}.check(t, "regimes", courseOf(t, inMarket(t, m, windows), 1).sensitivity, lag)
}

// Episodes begin in the stationary laws, and no process depends on another's switch.
func TestMarketBegins(t *testing.T) {
	const n = 2000
	m := defaultMarket()
	m.Sensitivity.Drift, m.Rival.Price, m.Failures.Share = WalkDrift, 1.3, 0.5
	var all course
	e := inMarket(t, m, 1)
	for seed := range uint64(n) {
		x := courseOf(t, e, seed)
		all.sensitivity, all.price, all.capacity = append(all.sensitivity, x.sensitivity[0]), append(all.price,
			x.price[0]), append(all.capacity, x.capacity[0])
	}
	momentLaw{1.1, 1.0 / 12, 0, 0, 0.8}.check(t, "walk", all.sensitivity, 1)
	grow := math.Exp(0.0625) - 1
	momentLaw{1.3, 1.69 * grow, 0, 0, 3.1}.check(t, "rival", all.price, 1)
	momentLaw{0.9, 0.5 * 0.5 * 0.16, 0, 0, 2.25}.check(t, "capacity", all.capacity, 1)
	a := courseOf(t, inMarket(t, m, 50), 3)
	m.Failures.Share, m.Rival.Price = 0, 0
	if b := courseOf(t, inMarket(t, m, 50), 3); math.Float64bits(a.sensitivity[49]) != math.Float64bits(b.sensitivity[49]) {
		t.Errorf("the sensitivity of window 49 is %g, and %g without rival and failures", a.sensitivity[49], b.sensitivity[49])
	}
}

// In a window users choose by the market of that window: the rival's share and the tiers' are those of the logit law.
func TestMarketShares(t *testing.T) {
	c := formConfig("market")
	e := must.Get(New(c, workload.Default(), nil))(t)
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	must.Do(t, e.Reset(5, nil, obs))
	copy(act.Kinds[0], []float32{1, 1.25, 1.5, 8, 15, 20})
	index := func(name string) float64 { return out.Info[must.Get(e.spec.InfoIndex(name))(t)] }
	for range c.Windows {
		seen := e.Meters().RivalPrice
		must.Do(t, e.Step(act, obs, out))
		beta, price := c.Demand.Beta*index("sensitivity"), index("rival_price")
		if seen != price {
			t.Errorf("the rival asks %g, and was seen to ask %g", price, seen)
		}
		rival := math.Exp(c.Market.Rival.Quality - beta*price)
		sum, first := rival+math.Exp(c.Demand.Outside), 0.0
		for m, p := range []float64{1, 1.25, 1.5} {
			x := math.Exp(c.Demand.Alpha*float64(c.Tiers[m].SLA) - beta*p)
			if sum += x; m == 0 {
				first = x
			}
		}
		if got := index("rival_share"); math.Abs(got-rival/sum) > 1e-12 {
			t.Errorf("the rival's share is %g, want %g", got, rival/sum)
		}
		if got := index("share_1"); math.Abs(got-first/sum) > 1e-12 {
			t.Errorf("the first tier's share is %g, want %g", got, first/sum)
		}
	}
}

// While half of the vGPUs are away, the other half serves; those at work end their jobs first.
func TestFailuresTakeCapacity(t *testing.T) {
	c := formConfig("market")
	c.Windows, c.Market.Failures = 12, Failures{Share: 0.5, Between: 1.5, Repair: 1.5}
	e := must.Get(NewSlots(c, workload.Default(), nil))(t)
	gone, turns, since := 0, int64(0), 0
	watch(t, e, 2, func(*envs.Observation, *envs.Action) {
		must.Do(t, e.check())
		down := 0
		for j := range e.vgpus {
			if e.vgpus[j].state == vgpuDown {
				down++
			}
		}
		if since++; e.market.turns != turns {
			turns, since = e.market.turns, 0
		}
		switch {
		case e.market.down == 0 && down > 0, down > 32:
			t.Fatalf("%d vGPUs are away, %d failures and returns", down, turns)
		case e.market.down == 1 && since > 30 && down < 32: // no job takes as long
			t.Fatalf("%d slots after the failure only %d vGPUs are away", since, down)
		}
		gone = max(gone, down)
	})
	if gone != 32 || turns < 2 {
		t.Errorf("at most %d vGPUs were away, in %d failures and returns", gone, turns)
	}
}

// In a fixed pool, too, vGPUs that are away are neither on nor paid for.
func TestFailuresInFixedPool(t *testing.T) {
	c := formConfig("market")
	c.Pool, c.Windows, c.Market.Failures = Fixed, 12, Failures{Share: 0.5, Between: 1.5, Repair: 1.5}
	e := must.Get(NewSlots(c, workload.Default(), nil))(t)
	base, deployed := must.Get(e.spec.InfoIndex("base"))(t), must.Get(e.spec.InfoIndex("deployed"))(t)
	least := 1.0
	play(t, e, sampled(t, e), func(out *envs.Outcome) {
		want := c.Costs.Fixed * out.Info[deployed] * float64(c.VGPUs) / float64(c.Slots)
		if math.Abs(out.Info[base]-want) > 1e-9 {
			t.Fatalf("%g of the vGPUs are on and cost %g, want %g", out.Info[deployed], out.Info[base], want)
		}
		least = min(least, out.Info[deployed])
	})
	if least > 0.5 {
		t.Errorf("%g of the vGPUs are always on, want half of them while the others are away", least)
	}
}

// What is wrong with a market is named by its key.
func TestMarketErrors(t *testing.T) {
	for want, change := range map[string]func(*Market){
		"market.sensitivity.high":  func(m *Market) { m.Sensitivity.Low = 2 },
		"market.failures.share":    func(m *Market) { m.Failures.Share = 0.999 },
		"market.sensitivity.drift": func(m *Market) { m.Sensitivity.Drift = "jump" },
		"market.rival.memory":      func(m *Market) { m.Rival.Memory = 0 },
	} {
		c := Default()
		change(&c.Market)
		wantError(t, c.Validate(), want)
	}
	c := formConfig("market")
	o := must.Get(NewObserver(c))(t)
	e := must.Get(New(c, workload.Default(), nil))(t)
	obs := envs.NewObservation(e.spec)
	must.Do(t, e.Reset(1, nil, obs))
	for want, change := range map[string]func(*Meters){
		"capacity is 0":      func(m *Meters) { m.Capacity = 0 },
		"rival_price is 0":   func(m *Meters) { m.RivalPrice = 0 },
		"capacity is 1.5":    func(m *Meters) { m.Capacity = 1.5 },
		"rival_price is -1,": func(m *Meters) { m.RivalPrice = -1 },
	} {
		m := *e.Meters()
		change(&m)
		wantError(t, o.Observe(&m, obs), want)
	}
}

func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want one that says %q", err, want)
	}
}
