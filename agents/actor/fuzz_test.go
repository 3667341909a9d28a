package actor_test

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/internal/graphstest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// Whatever a policy file says, it is refused or the policy does what is legal; an error is fine, a panic or gigabytes
// are not.
func FuzzChoices(f *testing.F) {
	p, s, e := policy(f, true)
	whole := must.Get(p.Export())(f)
	f.Add(whole.Description, len(whole.Arrays["one.network"].Data), []byte{})
	f.Add(whole.Description, 1, []byte{0, 0, 0xc0, 0x7f})
	obs, act := envs.NewObservation(s), envs.NewAction(s)
	o := &obs.Kinds[0]
	for i := range o.Mask {
		o.Mask[i] = i%3 > 0
	}
	o.Active[0], o.Active[1] = true, true
	f.Fuzz(func(t *testing.T, description []byte, length int, values []byte) {
		file := choicetest.Forge(whole, description, "one.network", length, 1<<12, values)
		p, err := actor.Open(file, s, e)
		if err != nil || p.Act(obs, act, length%2 == 0) != nil {
			return
		}
		for j, c := range act.Kinds[0] {
			if !o.Mask[j*4+int(c)] {
				t.Fatalf("an accepted policy does %g under %v", c, o.Mask)
			}
		}
		choicetest.Restores(t, p)
	})
}

func graphPolicy(t testing.TB) (agents.Policy, *graphstest.Toy, nets.Engine) {
	t.Helper()
	toy := graphstest.NewToy(5)
	p := must.Get(graphs.NewProblem(toy.Spec()))(t)
	e := native.New(native.Options{Threads: 1})
	n := graphs.DefaultNet()
	n.Hidden, n.Layers = 8, 1
	a := p.Policy(n, 0)
	net := must.Get(e.NewGraphNet(a))(t)
	net.Params().Set(nets.InitialParams(a, rng.New(1, "test")))
	k := actor.Kind{Head: actor.Softmax, Network: actor.Network{Arch: a}}
	pol := must.Get(actor.Source{Agent: "test", Spec: toy.Spec(), Train: e, Act: e}.Policy(actor.Part{Kind: k, Params: net.Params()}))(t)
	return pol, toy, e
}

// Whatever a policy file says, it is refused or the policy does what is legal; an error is fine, a panic or gigabytes
// are not.
func FuzzGraph(f *testing.F) {
	p, toy, e := graphPolicy(f)
	whole := must.Get(p.Export())(f)
	array := toy.Spec().Kinds[0].Name + ".network"
	f.Add(whole.Description, len(whole.Arrays[array].Data), []byte{})
	f.Add(whole.Description, 1, []byte{0, 0, 0xc0, 0x7f})
	obs, act, out := envs.NewObservation(toy.Spec()), envs.NewAction(toy.Spec()), envs.NewOutcome(toy.Spec())
	f.Fuzz(func(t *testing.T, description []byte, length int, values []byte) {
		file := choicetest.Forge(whole, description, array, length, 1<<14, values)
		p, err := actor.Open(file, toy.Spec(), e)
		if err != nil {
			return
		}
		must.Do(t, toy.Reset(uint64(length), nil, obs))
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
func TestGraphDoesNotAllocate(t *testing.T) {
	p, toy, _ := graphPolicy(t)
	obs, act := envs.NewObservation(toy.Spec()), envs.NewAction(toy.Spec())
	for seed := range uint64(50) {
		must.Do(t, toy.Reset(seed, nil, obs))
		must.Do(t, p.Act(obs, act, false))
	}
	if n := testing.AllocsPerRun(100, func() {
		must.Do(t, p.Act(obs, act, false))
	}); n > 0 {
		t.Errorf("acting allocates %g times", n)
	}
}
