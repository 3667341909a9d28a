package catalog

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// shortLoad is a load that is simulated in a moment.
func shortLoad() workload.Config {
	w := workload.Default()
	w.Factor = 0.02
	return w
}

// Whatever a saved state says, every environment of the table refuses it or goes on from it: an error is fine, a panic
// is not, and a state that was refused leaves an environment that can be reset.
func FuzzState(f *testing.F) {
	all := Default().Envs
	made := make([]envs.Env, len(all))
	for i, e := range all {
		var err error
		if made[i], err = e.New(e.Config(), shortLoad()); err != nil {
			f.Fatal(err)
		}
		obs, act, out := envs.NewObservation(made[i].Spec()), envs.NewAction(made[i].Spec()), envs.NewOutcome(made[i].Spec())
		s, err := envs.NewActionSampler(made[i].Spec())
		if err != nil {
			f.Fatal(err)
		}
		for _, do := range []func() error{
			func() error { return made[i].Reset(1, envs.Options{}, obs) },
			func() error { return s.Sample(rng.NewStream(1, "fuzz"), obs, act) },
			func() error { return made[i].Step(act, obs, out) },
		} {
			if err := do(); err != nil {
				f.Fatal(err)
			}
		}
		b, err := made[i].AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint(i), b)
		f.Add(uint(i), b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, which uint, b []byte) {
		e := made[which%uint(len(made))]
		obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
		if err := e.Reset(1, envs.Options{}, obs); err != nil {
			t.Fatal(err)
		}
		s, err := envs.NewActionSampler(e.Spec())
		if err != nil {
			t.Fatal(err)
		}
		stream := rng.NewStream(1, "fuzz")
		if err := s.Sample(stream, obs, act); err != nil {
			t.Fatal(err)
		}
		if e.UnmarshalBinary(b) == nil {
			for range 2 {
				if e.Step(act, obs, out) != nil || out.Terminated || out.Truncated {
					break
				}
			}
		}
		if err := e.Reset(2, envs.Options{}, obs); err != nil {
			t.Fatalf("good for nothing after a state that was refused or ran: %v", err)
		}
		if err := s.Sample(stream, obs, act); err != nil {
			t.Fatal(err)
		}
		if err := e.Step(act, obs, out); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzVector is FuzzState for the state of several copies and the episodes under way.
func FuzzVector(f *testing.F) {
	all := Default().Envs
	made := make([]*envs.Vector, len(all))
	for i, e := range all {
		var err error
		build := func() (envs.Env, error) { return e.New(e.Config(), shortLoad()) }
		made[i], err = envs.NewVector(build, envs.VectorOptions{Copies: 2, Seed: 3})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(made[i].Close)
		if err := made[i].Reset(); err != nil {
			f.Fatal(err)
		}
		b, err := made[i].AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint(i), b)
		f.Add(uint(i), b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, which uint, b []byte) {
		v := made[which%uint(len(made))]
		if err := v.Reset(); err != nil {
			t.Fatal(err)
		}
		if v.UnmarshalBinary(b) == nil {
			_ = v.Step()
		}
		if err := v.Reset(); err != nil {
			t.Fatalf("good for nothing after a state that was refused or ran: %v", err)
		}
	})
}
