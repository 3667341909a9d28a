package sizing

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// rig is an environment with its buffers.
type rig struct {
	*Env
	t   testing.TB
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func newRig(t testing.TB, w workload.Config, change func(*Config)) *rig {
	t.Helper()
	c := Default()
	if change != nil {
		change(&c)
	}
	e := must.Get(New(c, w))(t)
	s := e.Spec()
	return &rig{e, t, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
}

func (r *rig) reset(seed uint64) {
	r.t.Helper()
	if err := r.Reset(seed, nil, r.obs); err != nil {
		r.t.Fatal(err)
	}
}

// all gives every function the same resources.
func (r *rig) all(z Resources) {
	for f := range r.wanted {
		r.give(f, z)
	}
}

func (r *rig) give(f int, z Resources) {
	n := r.app.rng.Components()
	r.app.rng.Encode(z, r.act.Kinds[0][f*n:(f+1)*n])
}

func (r *rig) step() {
	r.t.Helper()
	if err := r.Step(r.act, r.obs, r.out); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) info(name string) float64 {
	r.t.Helper()
	i, err := r.spec.InfoIndex(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.out.Info[i]
}

// seen returns a feature of a function.
func (r *rig) seen(f int, feature string) float64 {
	r.t.Helper()
	k := r.spec.Kinds[0]
	for i, name := range k.Features {
		if name == feature {
			return float64(r.obs.Kinds[0].Values[f*len(k.Features)+i])
		}
	}
	r.t.Fatalf("no feature %q in %v", feature, k.Features)
	return 0
}

// quiet turns all noise off.
func quiet(c *Config) { c.Noise = Noise{} }

// near fails where x is further than tolerance from want.
func near(t testing.TB, what string, x, want, tolerance float64) {
	t.Helper()
	if !(x >= want-tolerance && x <= want+tolerance) {
		t.Errorf("%s is %g, want %g ± %g", what, x, want, tolerance)
	}
}
