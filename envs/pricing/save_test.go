package pricing

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// half is the scheduling environment in the middle of an episode, with its saved state.
func half(t testing.TB, change func(*Config)) (*Slots, []byte) {
	t.Helper()
	c := Default()
	c.VGPUs, c.Windows, c.Slots = 30, 3, 20
	for m := range c.Tiers {
		c.Tiers[m].Functions, c.Baselines[m] = 2, 3
	}
	change(&c)
	e := must.Get(NewSlots(c, workload.Default(), nil))(t)
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	must.Do(t, e.Reset(1, nil, obs))
	arms := must.Get(NewARMS(DefaultARMS(), e.Config()))(t)
	for range 31 {
		must.Do(t, arms.Act(obs, act, true))
		must.Do(t, e.Step(act, obs, out))
	}
	b := must.Get(e.AppendBinary(nil))(t)
	return e, b
}

func shared(c *Config) { c.Layout = Layout{GPU: 4, Warm: WarmShared} }

// Cut, changed and foreign states are refused, and the environment stays as it was.
func TestDamagedState(t *testing.T) {
	e, b := half(t, func(*Config) {})
	refused := func(what string, b []byte, reason string) {
		t.Helper()
		if err := e.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want an error with %q", what, err, reason)
		}
	}
	for i := range b {
		bad := slices.Clone(b)
		bad[i] ^= 0x55
		refused("changed", bad, SlotsID)
	}
	for n := 0; n < len(b); n += 1 + len(b)/50 {
		refused("cut", b[:n], SlotsID)
	}
	_, foreign := half(t, shared)
	refused("foreign", foreign, "another configuration")
	if after, err := e.AppendBinary(nil); err != nil || !bytes.Equal(after, b) {
		t.Errorf("refused states changed the environment (%v)", err)
	}
}

// Forged states, whose checksums hold, are refused, or hold together; they never panic.
func FuzzForgedState(f *testing.F) {
	e, b := half(f, func(*Config) {})
	g, c := half(f, shared)
	for i := range uint32(200) {
		f.Add(i*37, byte(1), false)
		f.Add(i*37, byte(0x80), true)
	}
	f.Fuzz(func(t *testing.T, at uint32, change byte, sharing bool) {
		env, saved := e, b
		if sharing {
			env, saved = g, c
		}
		body := slices.Clone(statetest.Body(saved))
		body[int(at)%len(body)] ^= change
		if err := env.UnmarshalBinary(statetest.Forge(saved, body)); err != nil {
			statetest.FieldsRead(t, err)
		} else if err := env.check(); err != nil {
			t.Errorf("accepted, and then %v", err)
		}
	})
}
