package graphs

import (
	"encoding/binary"
	"maps"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/graphs/graphstest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

func policy(t testing.TB) (*Policy, *graphstest.Toy, nets.Engine) {
	t.Helper()
	toy := graphstest.NewToy(5)
	p, err := NewProblem(toy.Spec())
	if err != nil {
		t.Fatal(err)
	}
	e := native.New(native.Options{Threads: 1})
	n := DefaultNet()
	n.Hidden, n.Layers = 8, 1
	a := p.Policy(n, 0)
	net, err := e.NewGraphNet(a)
	if err != nil {
		t.Fatal(err)
	}
	net.Params().Set(nets.InitialParams(a, rng.New(1, "test")))
	pol, err := NewPolicy("test", toy.Spec(), e, net, e)
	if err != nil {
		t.Fatal(err)
	}
	return pol, toy, e
}

// Whatever a policy file says, it is refused or the policy does what is legal; an error is fine, a panic or gigabytes are not.
func FuzzPolicyFile(f *testing.F) {
	p, toy, e := policy(f)
	whole, err := p.Export()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Description, len(whole.Arrays[array].Data), []byte{})
	f.Add(whole.Description, 1, []byte{0, 0, 0xc0, 0x7f})
	obs, act, out := envs.NewObservation(toy.Spec()), envs.NewAction(toy.Spec()), envs.NewOutcome(toy.Spec())
	f.Fuzz(func(t *testing.T, description []byte, length int, values []byte) {
		file := &agents.PolicyFile{Agent: "test", EnvID: toy.Spec().ID, Description: description, Arrays: maps.Clone(whole.Arrays)}
		a := agents.Array{Shape: []int{1, length}, Data: make([]float32, min(max(length, 0), 1<<14))}
		copy(a.Data, whole.Arrays[array].Data)
		for i := 0; i < len(a.Data) && len(values) >= 4; i, values = i+1, values[4:] {
			a.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(values))
		}
		file.Arrays[array] = a
		p, err := OpenPolicy("test", file, toy.Spec(), e)
		if err != nil {
			return
		}
		if err := toy.Reset(uint64(length), nil, obs); err != nil {
			t.Fatal(err)
		}
		if p.Act(obs, act, length%2 == 0) != nil {
			return
		}
		if err := toy.Step(act, obs, out); err != nil {
			t.Fatalf("an accepted policy does what is illegal: %v", err)
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

// Acting and its draws don't allocate once memory has grown.
func TestActingDoesNotAllocate(t *testing.T) {
	p, toy, _ := policy(t)
	obs, act := envs.NewObservation(toy.Spec()), envs.NewAction(toy.Spec())
	for seed := range uint64(50) {
		if err := toy.Reset(seed, nil, obs); err != nil {
			t.Fatal(err)
		}
		if err := p.Act(obs, act, false); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := p.Act(obs, act, false); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("acting allocates %g times", n)
	}
}
