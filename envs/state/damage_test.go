package state_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/internal/must"
)

// Whatever byte changes and wherever the state is cut, it is refused, and nothing changes.
func TestDamage(t *testing.T) {
	b, o := saved(t, full()), newWorld()
	o.count, o.double = 3, 6
	before := saved(t, o)
	refused := func(what string, b []byte) {
		t.Helper()
		if err := state.Load(b, kind, o); err == nil {
			t.Errorf("%s: accepted", what)
		} else if !bytes.Equal(saved(t, o), before) || o.double != 6 {
			t.Fatalf("%s: refused, but it left traces", what)
		}
	}
	for i := range b {
		for _, x := range []byte{0x01, 0xff} {
			bad := slices.Clone(b)
			bad[i] ^= x
			refused(fmt.Sprintf("byte %d changed", i), bad)
		}
		refused(fmt.Sprintf("cut to %d bytes", i), b[:i])
	}
	refused("a byte too many", append(slices.Clone(b), 0))
}

// forge changes the fields of a saved state and gives it the checksum that it needs.
func forge(b []byte, change func(body []byte) []byte) []byte {
	return statetest.Forge(b, change(slices.Clone(statetest.Body(b))))
}

// header changes a byte of a saved state's header.
func header(b []byte, at int, x byte) []byte {
	b = slices.Clone(b)
	b[at] = x
	return b
}

// A forged state, whose checksum holds, is refused with the reason or loaded; lengths allocate no more than there are
// bytes.
func TestForged(t *testing.T) {
	good, o := saved(t, full()), newWorld()
	before := saved(t, o)
	for i := range statetest.Body(good) {
		for _, x := range []byte{0x01, 0x80, 0xff} {
			if state.Load(forge(good, func(b []byte) []byte { b[i] ^= x; return b }), kind, o) == nil {
				must.Do(t, state.Load(before, kind, o))
			} else if !bytes.Equal(saved(t, o), before) {
				t.Fatalf("byte %d: refused, but it left traces", i)
			}
		}
	}
	same := func(b []byte) []byte { return b }
	foreign := newWorld()
	foreign.config = 8
	odd := full()
	odd.prices = odd.prices[:2]
	negative := full()
	negative.count = -1
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{saved(t, foreign), "of another configuration (8, want 7)"},
		{saved(t, odd), "a slice has 2 elements, want 3"},
		{saved(t, negative), "count is -1, want 0 or more"},
		{forge(good, func(b []byte) []byte { return append(b, 1, 2) }), "2 bytes are left over"},
		{forge(good, func(b []byte) []byte { return b[:len(b)-2] }), "ends too early"},
		{forge(good, func(b []byte) []byte { b[16+8+3+8] = 2; return b }), "neither 0 nor 1"},
		{header(good, len(good)-1, ^good[len(good)-1]), "checksum does not match"}, // what statetest.FieldsRead looks for
		{forge(header(good, 4, 1), same), "saved by an older version of Stoker, format 1, this one reads format 2"},
		{forge(header(good, 4, 3), same), "saved by a newer version of Stoker, format 3"},
		{forge(header(good, 0, 'X'), same), `begins with "XTKS"`},
		{forge(header(good, 9, 'X'), same), `of a "Xest/World-v1", want a "test/World-v1"`},
	} {
		if err := state.Load(c.b, kind, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	good := saved(f, full())
	f.Add(statetest.Body(good))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := full()
		b := statetest.Forge(good, body)
		if err := state.Load(b, kind, o); err != nil {
			statetest.FieldsRead(t, err)
			return
		}
		if again := saved(t, o); !bytes.Equal(again, b) {
			t.Error("a state that was accepted is saved with other bytes")
		}
	})
}
