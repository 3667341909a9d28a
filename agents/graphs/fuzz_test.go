package graphs

import (
	"testing"

	"github.com/stoker-rl/stoker/agents/choice/choicetest"
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

// Whatever a policy file says, it is refused or the policy does what is legal; an error is fine, a panic or gigabytes
// are not.
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
		file := choicetest.Forge(whole, description, array, length, 1<<14, values)
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
		choicetest.Restores(t, p)
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
