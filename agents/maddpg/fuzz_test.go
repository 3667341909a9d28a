package maddpg

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/native"
)

// floats are the numbers in b, at most n of them.
func floats(b []byte, n int) []float32 {
	out := make([]float32, 0, n)
	for ; len(b) >= 4 && len(out) < n; b = b[4:] {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return out
}

// Whatever a policy file says, it is refused or the policy acts; an error is fine, a panic or gigabytes are not.
func FuzzPolicyFile(f *testing.F) {
	options := []toyOptions{{agents: 2}, {agents: 2, choices: true, masked: true}}
	var files []*agents.PolicyFile
	var specs []*envs.Spec
	for i, o := range options {
		r := newRun(f, quick(), o, envs.VectorOptions{})
		r.steps(30)
		file, err := r.l.file()
		if err != nil {
			f.Fatal(err)
		}
		files, specs = append(files, file), append(specs, r.v.Spec())
		f.Add(i, file.Description, "actor", len(file.Arrays["actor"].Data), []byte{})
		f.Add(i, file.Description, "shift", 1, []byte{0, 0, 0xc0, 0x7f})
	}
	act := native.New(native.Options{})
	f.Fuzz(func(t *testing.T, which int, description []byte, array string, length int, values []byte) {
		i := (which%len(files) + len(files)) % len(files)
		file := &agents.PolicyFile{Agent: Name, EnvID: files[i].EnvID, Description: description, Arrays: maps.Clone(files[i].Arrays)}
		a := agents.Array{Shape: []int{length}, Data: make([]float32, min(max(length, 0), 1<<12))}
		if old, ok := file.Arrays[array]; ok {
			a.Shape = old.Shape
			copy(a.Data, old.Data)
		}
		copy(a.Data, floats(values, len(a.Data)))
		file.Arrays[array] = a
		p, err := OpenPolicy(file, specs[i], act)
		if err != nil {
			return
		}
		e := newToy(options[i])
		obs, do, out := envs.NewObservation(specs[i]), envs.NewAction(specs[i]), envs.NewOutcome(specs[i])
		if err := e.Reset(1, envs.Options{}, obs); err != nil {
			t.Fatal(err)
		}
		if p.Act(obs, do, len(values)%2 == 0) != nil {
			return
		}
		if err := e.Step(do, obs, out); err != nil {
			t.Fatalf("an accepted policy does what is no action: %v", err)
		}
		b, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.UnmarshalBinary(b); err != nil {
			t.Fatalf("its own state is refused: %v", err)
		}
	})
}

// Whatever a learner's state says, it is refused or the learner goes on from it; an error is fine, a panic is not.
func FuzzState(f *testing.F) {
	c := quick()
	c.Safe.On, c.Safe.MinHistory, c.Safe.History, c.RateFinal = true, 5, 30, 0.1
	r := newRun(f, c, toyOptions{agents: 2, length: 5}, envs.VectorOptions{})
	r.steps(30)
	whole := agents.NewState()
	if err := r.l.Save(whole); err != nil {
		f.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(whole.Blobs)) {
		f.Add(name, whole.Blobs[name], int64(1), []byte{})
	}
	for _, name := range slices.Sorted(maps.Keys(whole.Counters)) {
		f.Add(name, []byte{}, whole.Counters[name]+1, []byte{})
		f.Add(name, []byte{}, int64(math.MaxInt64), []byte{})
	}
	for _, name := range []string{"actor", "critic_target", "actor.second_moment", "sum.critic_loss"} {
		f.Add(name, []byte{}, int64(3), []byte{0, 0, 0x80, 0x7f})
	}
	f.Fuzz(func(t *testing.T, name string, blob []byte, n int64, values []byte) {
		s := agents.NewState()
		if err := r.l.Save(s); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Blobs[name]; ok {
			s.Blobs[name] = blob
		}
		if _, ok := s.Counters[name]; ok {
			s.Counters[name] = n
		}
		for _, m := range []map[string]agents.Array{s.Weights, s.Optimiser} {
			if a, ok := m[name]; ok {
				if n < 0 {
					a.Shape = []int{int(n)}
				}
				at := int(uint64(n) % uint64(len(a.Data)+1))
				copy(a.Data[at:], floats(values, len(a.Data)))
				m[name] = a
			}
		}
		// Back to what is sound, whatever came of it.
		defer func() {
			if err := r.l.Load(whole); err != nil {
				t.Fatal(err)
			}
			if err := r.v.Reset(); err != nil {
				t.Fatal(err)
			}
		}()
		if r.l.Load(s) != nil || r.v.Reset() != nil {
			return
		}
		for range 8 {
			for _, do := range []func() error{
				func() error { return r.l.Act(r.v) }, r.v.Step, func() error { return r.l.Observe(r.v) }, r.l.Update,
			} {
				if do() != nil {
					return
				}
			}
		}
		r.l.Metrics(func(string, float64) {})
	})
}
