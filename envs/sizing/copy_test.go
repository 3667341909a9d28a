package sizing

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// saved returns an environment in the middle of an episode, gates, queues and requests under way included, and its
// state.
func saved(t testing.TB) (*rig, []byte) {
	t.Helper()
	r := newRig(t, poisson(1), func(c *Config) { c.Workflow, c.Windows = TcktApp, 4 })
	r.reset(1)
	r.all(Resources{CPU: 500, Memory: 512, Replicas: 1, Concurrency: 1})
	r.step()
	queued := 0
	for f, z := range r.inForce {
		if r.walk.Gated(f) {
			queued += max(0, r.walk.Inside(f)-z.Replicas*z.Concurrency)
		}
	}
	if queued == 0 || r.walk.Live() == 0 {
		t.Fatal("nothing is under way or in line; the state would be too simple")
	}
	b := must.Get(r.AppendBinary([]byte("before")))(t)
	return r, b[len("before"):]
}

// A cut state is refused, and so is one with a byte too many; the environment stays as it was.
func TestDamagedState(t *testing.T) {
	r, b := saved(t)
	refuse := func(what string, b []byte) {
		t.Helper()
		if err := r.UnmarshalBinary(b); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	for n := 0; n < len(b); n += 1 + len(b)/97 {
		refuse("cut", b[:n])
	}
	refuse("a byte too many", append(b[:len(b):len(b)], 0))
	refuse("nothing", nil)
	// Flipped bytes: some are refused, others are another state; none may panic, also not when stepped.
	other := newRig(t, poisson(1), func(c *Config) { c.Workflow, c.Windows = TcktApp, 4 })
	body := statetest.Body(b)
	for n := 0; n < len(body); n += 1 + len(body)/499 {
		bad := slices.Clone(body)
		bad[n] ^= 0x5a
		if other.UnmarshalBinary(statetest.Forge(b, bad)) == nil && !other.ended {
			copy(other.act.Kinds[0], r.act.Kinds[0])
			_ = other.Step(other.act, other.obs, other.out) // may fail on inconsistent books
		}
	}
	after := must.Get(r.AppendBinary(nil))(t)
	if string(after) != string(b) {
		t.Error("refused states changed the environment")
	}
}

func TestForeignState(t *testing.T) {
	_, b := saved(t)
	other := newRig(t, poisson(1.5), func(c *Config) { c.Workflow, c.Windows = TcktApp, 4 })
	if err := other.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), "another configuration") {
		t.Errorf("the state of another load: %v", err)
	}
	pole := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	if err := other.CopyFrom(pole); err == nil || !strings.Contains(err.Error(), "CartPole") {
		t.Errorf("copied from a pole: %v", err)
	}
	r := newRig(t, workload.Default(), nil)
	if err := other.CopyFrom(r.Env); err == nil || !strings.Contains(err.Error(), "another configuration") {
		t.Errorf("copied from another configuration: %v", err)
	}
}

func FuzzState(f *testing.F) {
	r, b := saved(f)
	f.Add(statetest.Body(b))
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := r.UnmarshalBinary(statetest.Forge(b, body)); err != nil {
			statetest.FieldsRead(t, err)
			return
		}
		_ = r.Step(r.act, r.obs, r.out) // an error is fine
	})
}
