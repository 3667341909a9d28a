package pricing

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// jsonOf writes a value as JSON.
func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	b := must.Get(json.Marshal(v))(t)
	return b
}

// same reports whether two observations are equal, bit for bit.
func same(a, b *envs.Observation) bool {
	x, y := &a.Kinds[0], &b.Kinds[0]
	return slices.Equal(x.Values, y.Values) && slices.Equal(x.Active, y.Active) && slices.Equal(x.Mask, y.Mask)
}

// A platform that sends the simulator's measurements as JSON gets the simulator's observations, bit for bit, in each
// form, and its decisions are what the simulator carries out.
func TestObserver(t *testing.T) {
	for name := range forms {
		c := formConfig(name)
		p, s := newForm(t, name)
		so, err := OpenSlotObserver(jsonOf(t, c))
		must.Do(t, err)
		if !reflect.DeepEqual(s.Spec(), so.Spec()) {
			t.Errorf("%s: the slot observer's spec is another", name)
		}
		seen := envs.NewObservation(so.Spec())
		switches := make([]Switches, len(s.fn))
		var before *SlotMeters
		watch(t, s, 1, func(obs *envs.Observation, act *envs.Action) {
			if act != nil { // what was decided by the meters before it
				must.Do(t, so.Switches(act, before, switches))
				a := act.Kinds[0]
				if c.Acts == ActsMoves {
					a = s.counted
				}
				for f, x := range switches {
					if got := []float32{float32(x.Warm), float32(x.Cold), float32(x.Release), float32(x.Give),
						float32(x.Take)}; !slices.Equal(got, a[f*Acts:(f+1)*Acts]) {
						t.Fatalf("%s: function %d has %+v, want %v", name, f, x, a[f*Acts:(f+1)*Acts])
					}
				}
			}
			if before, err = ParseSlotMeters(jsonOf(t, s.Meters())); err != nil {
				t.Fatal(err)
			}
			must.Do(t, so.Observe(before, seen))
			if !same(obs, seen) {
				t.Fatalf("%s: the scheduler's observation differs", name)
			}
		})
		if p == nil {
			continue
		}
		o, err := OpenObserver(jsonOf(t, c))
		must.Do(t, err)
		if !reflect.DeepEqual(p.Spec(), o.Spec()) {
			t.Errorf("%s: the observer's spec is another", name)
		}
		seen, prices, over := envs.NewObservation(o.Spec()), make([]TierPrice, len(c.Tiers)), 0
		watch(t, p, 1, func(obs *envs.Observation, act *envs.Action) {
			m, err := ParseMeters(jsonOf(t, p.Meters()))
			must.Do(t, err)
			must.Do(t, o.Observe(m, seen))
			if !same(obs, seen) {
				t.Fatalf("%s: the provider's observation differs", name)
			}
			if act == nil {
				return
			}
			must.Do(t, o.Prices(act, prices))
			sum := 0.0
			for i, x := range prices {
				if x != m.Tiers[i].TierPrice {
					t.Fatalf("%s: tier %d has %+v, want %+v", name, i, m.Tiers[i].TierPrice, x)
				}
				sum += float64(act.Kinds[0][len(prices)+i])
			}
			if err := o.Fits(act); (err != nil) != (sum > float64(c.VGPUs)) {
				t.Fatalf("%s: %g keep-alive vGPUs of %d: %v", name, sum, c.VGPUs, err)
			} else if err != nil {
				over++
			}
		})
		if over == 0 && name != "fixed" {
			t.Errorf("%s: no action asks for too many vGPUs", name)
		}
	}
}

func TestObserveAllocates(t *testing.T) {
	p, s := newForm(t, "trace")
	obs, slot := envs.NewObservation(p.Spec()), envs.NewObservation(s.Spec())
	must.Do(t, p.Reset(1, nil, obs))
	must.Do(t, s.Reset(1, nil, slot))
	if n := testing.AllocsPerRun(100, func() {
		if p.observer.Observe(p.Meters(), obs) != nil || s.slotObserver.Observe(s.Meters(), slot) != nil {
			t.Fatal("not observed")
		}
	}); n != 0 {
		t.Errorf("%g allocations, want none", n)
	}
}

// What is wrong is named by its key.
func TestMetersErrors(t *testing.T) {
	p, s := newForm(t, "trace")
	watch(t, p, 0, func(*envs.Observation, *envs.Action) {})
	watch(t, s, 0, func(*envs.Observation, *envs.Action) {})
	good, slot := jsonOf(t, p.Meters()), jsonOf(t, s.Meters())
	out := envs.NewObservation(p.Spec())
	for want, change := range map[string]func(*Meters){
		"tiers are 2, want 3":                func(m *Meters) { m.Tiers = m.Tiers[:2] },
		"tiers[1].arrived is -1, want 0 to":  func(m *Meters) { m.Tiers[1].Arrived = -1 },
		"tiers[0].price is NaN, want 0 to":   func(m *Meters) { m.Tiers[0].Price = math.NaN() },
		"tiers[2].keep_alive is 65537, want": func(m *Meters) { m.Tiers[2].KeepAlive = 65537 },
		"utilisation is 2, want 0 to 1":      func(m *Meters) { m.Utilisation = 2 },
		"next is -1, want":                   func(m *Meters) { m.Next = -1 },
		"revenue is +Inf, want":              func(m *Meters) { m.Revenue = math.Inf(1) },
	} {
		m := must.Get(ParseMeters(good))(t)
		change(m)
		if err := p.observer.Observe(m, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, change := range map[string]func(*SlotMeters){
		"tiers are 0, want 3":              func(m *SlotMeters) { m.Tiers = nil },
		"late has 1 entries, want one for": func(m *SlotMeters) { m.Late = m.Late[:1] },
		"estimate has 0 entries, want one": func(m *SlotMeters) { m.Estimate = nil },
		"idle[3] is -2, want 0 to":         func(m *SlotMeters) { m.Idle[3] = -2 },
		"estimate[3] is NaN, want":         func(m *SlotMeters) { m.Estimate[3] = math.NaN() },
		"slot is -1, want":                 func(m *SlotMeters) { m.Slot = -1 },
	} {
		m := must.Get(ParseSlotMeters(slot))(t)
		change(m)
		if err := s.slotObserver.Observe(m, envs.NewObservation(s.Spec())); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	m, _ := ParseMeters(good)
	if err := p.observer.Observe(m, envs.NewObservation(s.Spec())); err == nil {
		t.Error("an observation of another spec is taken")
	}
	if _, err := ParseMeters([]byte(`{"tires": []}`)); err == nil || !strings.Contains(err.Error(), "tires") {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := OpenObserver([]byte(`{"acts": "moves"}`)); err == nil || !strings.Contains(err.Error(), SlotsID) {
		t.Errorf("moves: %v", err)
	}
	if _, err := OpenSlotObserver([]byte(`{"work": {"service": "measured", "latencies": "x"}}`)); err == nil ||
		!strings.Contains(err.Error(), "none is opened") {
		t.Errorf("measured service times: %v", err)
	}
	if _, err := OpenSlotObserver([]byte(`{"vgpus": 0}`)); err == nil || !strings.Contains(err.Error(), "vgpus") {
		t.Errorf("no vGPUs: %v", err)
	}
}

// No text panics, and what is taken gives finite numbers.
func FuzzMeters(f *testing.F) {
	p, s := newForm(f, "trace")
	watch(f, p, 0, func(*envs.Observation, *envs.Action) {})
	watch(f, s, 0, func(*envs.Observation, *envs.Action) {})
	f.Add(jsonOf(f, p.Meters()))
	f.Add(jsonOf(f, s.Meters()))
	out, slot := envs.NewObservation(p.Spec()), envs.NewObservation(s.Spec())
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ParseMeters(data); err == nil && p.observer.Observe(m, out) == nil {
			for i, x := range out.Kinds[0].Values {
				if x-x != 0 {
					t.Fatalf("number %d is %g for %s", i, x, data)
				}
			}
		}
		if m, err := ParseSlotMeters(data); err == nil && s.slotObserver.Observe(m, slot) == nil {
			for i, x := range slot.Kinds[0].Values {
				if x-x != 0 {
					t.Fatalf("number %d is %g for %s", i, x, data)
				}
			}
		}
	})
}
