package pricing

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// Nothing is lost under any action: jobs, vGPUs and roles add up, one by one, in every pool and layout.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Default()
		generated(&c)
		c.VGPUs, c.Windows, c.Slots = rapid.IntRange(1, 40).Draw(t, "vgpus"), 3, rapid.IntRange(1, 12).Draw(t, "slots")
		c.Pool = rapid.SampledFrom([]string{Reserved, Elastic, Fixed}).Draw(t, "pool")
		c.Layout = Layout{rapid.IntRange(1, 5).Draw(t, "gpu"),
			rapid.SampledFrom([]string{WarmLast, WarmShared}).Draw(t, "warm")}
		c.Load, c.Preload = rapid.SampledFrom([]float64{0, 0.5, 1, 2.3}).Draw(t, "load"), rapid.Bool().Draw(t, "preload")
		c.Patience, c.Late = rapid.IntRange(1, 4).Draw(t, "patience"), rapid.Float64Range(1, 3).Draw(t, "late")
		for m := range c.Tiers {
			c.Tiers[m].Functions, c.Tiers[m].Service = rapid.IntRange(1, 3).Draw(t, "functions"), rapid.Float64Range(1,
				5).Draw(t, "service")
			c.Baselines[m] = 0
		}
		if c.VGPUs > 1 && rapid.Bool().Draw(t, "fails") {
			c.Market.Failures = Failures{Share: float64(rapid.IntRange(1, c.VGPUs-1).Draw(t, "failing")) / float64(c.VGPUs),
				Between: 0.3, Repair: 0.3}
		}
		e := must.Get(NewSlots(c, workload.Default(), &wanderer{}))(t)
		e.prices.(*wanderer).spec = e.priceSpec
		obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
		must.Do(t, e.Reset(rapid.Uint64().Draw(t, "seed"), nil, obs))
		most := rapid.IntRange(0, 4).Draw(t, "most")
		s := rng.NewStream(uint64(most), "orders")
		for !out.Truncated {
			must.Do(t, e.check())
			for j := range e.vgpus {
				v := &e.vgpus[j]
				if v.state == vgpuIdle && v.role == transient && (v.patient == 1) != e.patientSince(v) {
					t.Fatalf("vGPU %d is idle since slot %d; in slot %d it counts as patient: %d", j, v.since, e.slot, v.patient)
				}
			}
			for i := range act.Kinds[0] {
				act.Kinds[0][i] = float32(min(s.IntN(most+1), c.VGPUs))
			}
			must.Do(t, e.Step(act, obs, out))
		}
		must.Do(t, e.check())
	})
}

// wanderer draws every window's prices and baselines.
type wanderer struct {
	Static
	spec *envs.Spec
	s    *rng.Stream
}

func (p *wanderer) Reset(seed uint64) error { p.s = rng.NewStream(seed, "wanderer"); return nil }

func (p *wanderer) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	p.spec.Kinds[0].Action.Sample(p.s, nil, act.Kinds[0])
	return nil
}

// Eq. 1 at the paper's final prices: 21, 35 and 44 % with a negative alpha, and 70, 21 and 9 % with the sign as printed
// (H1).
func TestShares(t *testing.T) {
	c := Default()
	got := make([]float64, 3)
	near := func(want ...float64) {
		t.Helper()
		for m := range want {
			if math.Abs(got[m]-want[m]) > 0.006 {
				t.Errorf("shares are %.3v, want %v", got, want)
				return
			}
		}
	}
	c.Shares([]float64{1.1, 1.3, 1.5}, got)
	near(0.21, 0.35, 0.44)
	c.Shares([]float64{1, 1, 1}, got)
	near(0.135, 0.314, 0.552)
	c.Shares([]float64{301.1, 301.3, 301.5}, got) // no outside option: only differences matter
	near(0.21, 0.35, 0.44)
	c.Demand.Alpha = 0.282
	c.Shares([]float64{1.1, 1.3, 1.5}, got)
	near(0.70, 0.21, 0.09)
	c = Default()
	c.Profile = OutsideProfile
	c.Shares([]float64{1.1, 1.3, 1.5}, got)
	if all := got[0] + got[1] + got[2]; math.Abs(all-0.432) > 0.005 {
		t.Errorf("%.3f of the users buy with the outside option, want 0.432", all)
	}
}

// Arrivals have the mean of eq. 1 and, outside bursts, Poisson's variance; bursts keep the mean. 5 standard errors.
func TestArrivals(t *testing.T) {
	for _, mean := range []float64{0.01, 3, 29, 31, 500} {
		r := &newRates(1)[0]
		r.set(mean)
		w := &world{fn: make([]function, 1)}
		const n = 20000
		var sum, sq float64
		for i := range uint64(n) {
			w.fn[0].arrivalKey = rng.New(3, "test")
			x := float64(w.poisson(0, r, i, draw(w.fn[0].arrivalKey.With(i)))) - mean
			sum += x
			sq += x * x
		}
		if e := 5 * math.Sqrt(mean/n); math.Abs(sum/n) > e {
			t.Errorf("mean %g is off by %g, more than %g", mean, sum/n, e)
		}
		if e := 5 * mean * math.Sqrt((2+1/mean)/n); math.Abs(sq/n-mean) > e {
			t.Errorf("mean %g has variance %g, off by more than %g", mean, sq/n, e)
		}
	}
	c := Default()
	generated(&c)
	c.Windows, c.Slots, c.Demand.Amplitude, c.Demand.Noise = 1, 20000, 0, 0
	e := must.Get(NewSlots(c, workload.Default(), nil))(t)
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	must.Do(t, e.Reset(1, nil, obs))
	for !out.Truncated {
		must.Do(t, e.Step(act, obs, out))
	}
	// Bursts correlate a function's arrivals over six slots and spread the mean by about 0.1.
	if got := e.total[accArrived] / 20000; math.Abs(got-45) > 0.6 {
		t.Errorf("%.2f jobs arrive in a slot, want 45", got)
	}
}
