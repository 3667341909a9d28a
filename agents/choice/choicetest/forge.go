package choicetest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state/statetest"
	"github.com/stoker-rl/stoker/nets/native"
)

// FuzzState holds that whatever a learner's state says, it is refused or the learner goes on from it: an error is fine,
// a panic is not.
func FuzzState(f *testing.F, env func() envs.Env, steps int, build func(agents.Context) (agents.Learner, error)) {
	v, err := envs.NewVector(func() (envs.Env, error) { return env(), nil }, envs.VectorOptions{NumEnvs: 2, Seed: 1})
	if err != nil {
		f.Fatal(err)
	}
	e := native.New(native.Options{Threads: 1})
	l, err := build(agents.Context{Spec: v.Spec(), NumEnvs: 2, Train: e, Act: e, Seed: 1, Steps: 100})
	if err != nil {
		f.Fatal(err)
	}
	run := func(n int) error {
		for range n {
			if err := turn(l, v); err != nil {
				return err
			}
		}
		return nil
	}
	if err := v.Reset(); err != nil {
		f.Fatal(err)
	}
	if err := run(steps); err != nil {
		f.Fatal(err)
	}
	whole := agents.NewState()
	if err := l.Save(whole); err != nil {
		f.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(whole.Blobs)) {
		f.Add(name, statetest.Body(whole.Blobs[name]), int64(1), []byte{})
	}
	for _, name := range slices.Sorted(maps.Keys(whole.Counters)) {
		f.Add(name, []byte{}, whole.Counters[name]+1, []byte{})
		f.Add(name, []byte{}, int64(math.MaxInt64), []byte{})
	}
	for _, arrays := range []map[string]agents.Array{whole.Weights, whole.Optimiser} {
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			f.Add(name, []byte{}, int64(3), []byte{0, 0, 0x80, 0x7f})
		}
	}
	f.Fuzz(func(t *testing.T, name string, body []byte, n int64, values []byte) {
		s := agents.NewState()
		if err := l.Save(s); err != nil {
			t.Fatal(err)
		}
		if b, ok := s.Blobs[name]; ok {
			s.Blobs[name] = statetest.Forge(b, body)
		}
		if _, ok := s.Counters[name]; ok {
			s.Counters[name] = n
		}
		for _, m := range []map[string]agents.Array{s.Weights, s.Optimiser} {
			if a, ok := m[name]; ok {
				if n < 0 {
					a.Shape = []int{int(n)}
				}
				overwrite(a.Data[int(uint64(n)%uint64(len(a.Data)+1)):], values)
				m[name] = a
			}
		}
		// Back to what is sound, whatever came of it.
		defer func() {
			if err := l.Load(whole); err != nil {
				t.Fatal(err)
			}
			if err := v.Reset(); err != nil {
				t.Fatal(err)
			}
		}()
		if err := l.Load(s); err != nil {
			statetest.FieldsRead(t, err)
			unchanged(t, l, whole)
			return
		}
		if v.Reset() == nil && run(8) == nil {
			l.Metrics(func(string, float64) {})
		}
	})
}

// unchanged holds that a learner still has the state that it saved as want.
func unchanged(t *testing.T, l agents.Learner, want *agents.State) {
	t.Helper()
	got := agents.NewState()
	if err := l.Save(got); err != nil {
		t.Fatal(err)
	}
	for _, m := range [2][2]map[string]agents.Array{{got.Weights, want.Weights}, {got.Optimiser, want.Optimiser}} {
		for name, a := range m[1] {
			if !slices.Equal(m[0][name].Data, a.Data) {
				t.Errorf("the refused state changed %s", name)
			}
		}
	}
	for name, b := range want.Blobs {
		if !slices.Equal(got.Blobs[name], b) {
			t.Errorf("the refused state changed %s", name)
		}
	}
	if !maps.Equal(got.Counters, want.Counters) {
		t.Errorf("the refused state changed the counters to %v, want %v", got.Counters, want.Counters)
	}
}

// Forge returns a policy's file as somebody else may have written it: with another description, and one array of length
// numbers, at most most, that begins with values.
func Forge(whole *agents.PolicyFile, description []byte, array string, length, most int,
	values []byte) *agents.PolicyFile {
	f := &agents.PolicyFile{Agent: whole.Agent, EnvID: whole.EnvID, Description: description,
		Arrays: maps.Clone(whole.Arrays)}
	a := agents.Array{Shape: []int{1, length}, Data: make([]float32, min(max(length, 0), most))}
	copy(a.Data, whole.Arrays[array].Data)
	overwrite(a.Data, values)
	f.Arrays[array] = a
	return f
}

// overwrite puts the float32 in values in place of the first of x.
func overwrite(x []float32, values []byte) {
	for i := 0; i < len(x) && len(values) >= 4; i, values = i+1, values[4:] {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(values))
	}
}

// Restores holds that a policy takes its own state.
func Restores(t testing.TB, p agents.Policy) {
	t.Helper()
	b, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.UnmarshalBinary(b); err != nil {
		t.Fatalf("its own state is refused: %v", err)
	}
}
