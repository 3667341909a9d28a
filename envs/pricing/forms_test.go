package pricing

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// forms are configurations, and hashes of what the provider and the scheduler see in an episode of random actions of
// theirs. The hashes came from the code before observations were made from meters.
var forms = map[string]struct {
	load        workload.Config
	change      func(*Config)
	price, slot uint64
}{
	"trace":   {workload.Default(), func(*Config) {}, 0xe0dad95cfdde0cd3, 0x6efd07325020c15},
	"moves":   {workload.Default(), func(c *Config) { c.Acts, c.Rewards = ActsMoves, OwnRewards }, 0, 0x4a76ebc45b6076fc},
	"outside": {poisson(), func(c *Config) { c.Profile = OutsideProfile }, 0x52a04880616b299d, 0xd2c6cd8ecd785da1},
	"elastic": {workload.Default(), func(c *Config) {
		c.VGPUs, c.Pool, c.Layout.Warm, c.Demand.Mean, c.Baselines = 30, Elastic, WarmShared, 60, []int{0, 0, 0}
	}, 0x27a2f28a946c57e2, 0x39db13d4c9bc6ba4},
	"shared moves": {workload.Default(), func(c *Config) {
		generated(c)
		c.Acts, c.Layout.Warm, c.Preload, c.Load, c.Late = ActsMoves, WarmShared, false, 2.5, 1
	}, 0, 0x34b58b3b8129803e},
	"fixed": {workload.Default(), func(c *Config) {
		generated(c)
		c.Pool, c.Load, c.BaselineMax, c.VGPUs = Fixed, 0.5, 30, 48
	}, 0x49150e2665de5a41, 0xe77a617ac86add05},
	"market":  {workload.Default(), moving(WalkDrift), 0x8a149ca3c7791ff4, 0x839a67a0892aa2e0},
	"regimes": {workload.Default(), moving(RegimesDrift), 0x46d98b4daace418d, 0x7cb19aef6908f43f},
}

// moving switches all processes of the market on, quick enough for short episodes.
func moving(drift string) func(*Config) {
	return func(c *Config) {
		generated(c)
		c.Profile, c.Costs.Revenue = OutsideProfile, ServedRevenue
		c.Market.Sensitivity.Drift, c.Market.Sensitivity.Memory = drift, 2
		c.Market.Failures = Failures{Share: 0.5, Between: 1, Repair: 0.7}
		c.Market.Rival.Price, c.Market.Rival.Memory = 1.3, 2
	}
}

// formConfig is the configuration of a form's episodes of three short windows.
func formConfig(name string) Config {
	c := Default()
	forms[name].change(&c)
	c.Windows, c.Slots = 3, 30
	return c
}

// newForm makes the environments of a form; the first is nil where only the scheduler's has the form.
func newForm(t testing.TB, name string) (*Pricing, *Slots) {
	t.Helper()
	c, load := formConfig(name), forms[name].load
	s := must.Get(NewSlots(c, load, nil))(t)
	if c.Acts == ActsMoves {
		return nil, s
	}
	p := must.Get(New(c, load, nil))(t)
	return p, s
}

// watch runs an episode of random actions, and calls f after each observation.
func watch(t testing.TB, e envs.Env, seed uint64, f func(obs *envs.Observation, act *envs.Action)) {
	t.Helper()
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, e.Reset(seed, nil, obs))
	f(obs, nil)
	r := rng.NewStream(seed, "form actions")
	space := s.Kinds[0].Action
	w := space.Width()
	for !out.Truncated {
		for a := act.Kinds[0]; len(a) > 0; a = a[w:] {
			space.Sample(r, nil, a[:w])
			if s.ID == SlotsID && w == Acts {
				for i := range w { // so many that some are granted
					a[i] = float32(int(a[i]) / 16)
				}
			}
		}
		must.Do(t, e.Step(act, obs, out))
		f(obs, act)
	}
}

// What is seen in each form is what was seen before there were meters, bit for bit.
func TestForms(t *testing.T) {
	hash := func(e envs.Env) uint64 {
		h := fnv.New64a()
		for seed := range uint64(2) {
			watch(t, e, seed, func(obs *envs.Observation, _ *envs.Action) {
				for _, x := range obs.Kinds[0].Values {
					h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
				}
			})
		}
		return h.Sum64()
	}
	for name, form := range forms {
		p, s := newForm(t, name)
		if got := hash(s); got != form.slot {
			t.Errorf("%s: slots are %#x, were %#x", name, got, form.slot)
		}
		if p == nil {
			continue
		}
		if got := hash(p); got != form.price {
			t.Errorf("%s: windows are %#x, were %#x", name, got, form.price)
		}
	}
}
