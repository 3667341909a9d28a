package catalog_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// shortLoad is a load that is simulated in a moment.
func shortLoad() workload.Config {
	w := workload.Default()
	w.Factor = 0.02
	return w
}

// saver is what has a saved state.
type saver interface {
	AppendBinary(b []byte) ([]byte, error)
	UnmarshalBinary(b []byte) error
}

// addFields adds the fields of the saved state of s as seeds of row i: whole, which s must accept, cut, and with a bit
// changed in many places. It returns the saved state, to forge others from.
func addFields(f *testing.F, i int, s saver) []byte {
	f.Helper()
	saved := must.Get(s.AppendBinary(nil))(f)
	fields := statetest.Body(saved)
	if err := s.UnmarshalBinary(statetest.Forge(saved, fields)); err != nil {
		f.Fatalf("its own state is refused: %v", err)
	}
	f.Add(uint(i), fields)
	f.Add(uint(i), fields[:len(fields)/2])
	const places = 24
	for k := range min(places, len(fields)) {
		damaged := slices.Clone(fields)
		damaged[(2*k+1)*len(damaged)/(2*places)] ^= 1 << (k % 8)
		f.Add(uint(i), damaged)
	}
	return saved
}

// load gives s the fields in place of those in saved, under a checksum that is right. What is refused must change
// nothing.
func load(t *testing.T, s saver, saved, fields []byte) (accepted bool) {
	t.Helper()
	before, err := s.AppendBinary(nil)
	must.Do(t, err)
	err = s.UnmarshalBinary(statetest.Forge(saved, fields))
	statetest.FieldsRead(t, err)
	if err == nil {
		return true
	}
	if after, err := s.AppendBinary(nil); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the refused state left traces (%v)", err)
	}
	return false
}

// Whatever the fields of a saved state say, every environment of the table refuses it or goes on from it: an error is
// fine, a panic is not, and a state that was refused changes nothing.
func FuzzState(f *testing.F) {
	all := catalog.Default().Envs
	made, saved := make([]envs.Env, len(all)), make([][]byte, len(all))
	for i, e := range all {
		var err error
		if made[i], err = e.New(e.Config(), shortLoad()); err != nil {
			f.Fatal(err)
		}
		obs, act, out := envs.NewObservation(made[i].Spec()), envs.NewAction(made[i].Spec()), envs.NewOutcome(made[i].Spec())
		s := must.Get(envs.NewActionSampler(made[i].Spec()))(f)
		for _, do := range []func() error{
			func() error { return made[i].Reset(1, envs.Options{}, obs) },
			func() error { return s.Sample(rng.NewStream(1, "fuzz"), obs, act) },
			func() error { return made[i].Step(act, obs, out) },
		} {
			must.Do(f, do())
		}
		saved[i] = addFields(f, i, made[i])
	}
	f.Fuzz(func(t *testing.T, which uint, fields []byte) {
		i := which % uint(len(made))
		e := made[i]
		obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
		must.Do(t, e.Reset(1, envs.Options{}, obs))
		s := must.Get(envs.NewActionSampler(e.Spec()))(t)
		stream := rng.NewStream(1, "fuzz")
		must.Do(t, s.Sample(stream, obs, act))
		if load(t, e, saved[i], fields) {
			for range 2 {
				if e.Step(act, obs, out) != nil || out.Terminated || out.Truncated {
					break
				}
			}
		}
		if err := e.Reset(2, envs.Options{}, obs); err != nil {
			t.Fatalf("no episode can begin after a state that was refused or ran: %v", err)
		}
		must.Do(t, s.Sample(stream, obs, act))
		must.Do(t, e.Step(act, obs, out))
	})
}

// FuzzVector is FuzzState for the state of several copies and the episodes under way. Actions are drawn from what the
// loaded state shows.
func FuzzVector(f *testing.F) {
	all := catalog.Default().Envs
	made, saved := make([]*envs.Vector, len(all)), make([][]byte, len(all))
	for i, e := range all {
		var err error
		build := func() (envs.Env, error) { return e.New(e.Config(), shortLoad()) }
		made[i], err = envs.NewVector(build, envs.VectorOptions{NumEnvs: 2, Seed: 3})
		must.Do(f, err)
		must.Do(f, made[i].Reset())
		saved[i] = addFields(f, i, made[i])
	}
	f.Fuzz(func(t *testing.T, which uint, fields []byte) {
		i := which % uint(len(made))
		v := made[i]
		must.Do(t, v.Reset())
		s := must.Get(envs.NewActionSampler(v.Spec()))(t)
		if load(t, v, saved[i], fields) && sample(v, s) == nil {
			_ = v.Step() // an error is fine
		}
		if err := v.Reset(); err != nil {
			t.Fatalf("no episode can begin after a state that was refused or ran: %v", err)
		}
	})
}

// sample draws an action for every copy.
func sample(v *envs.Vector, s *envs.ActionSampler) error {
	stream := rng.NewStream(1, "fuzz")
	for c := range v.NumEnvs() {
		if err := s.Sample(stream, v.Obs.Env(c), v.Act.Env(c)); err != nil {
			return err
		}
	}
	return nil
}
