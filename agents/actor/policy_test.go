package actor_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

func spec(n int) *envs.Spec {
	return &envs.Spec{ID: "test/Choice-v1",
		Kinds: []envs.Kind{{Name: "one", Agents: 2, Observation: envs.NewBox(3, -1, 1), Action: envs.Discrete{N: n}}}}
}

// policy scores four choices; with logits it draws.
func policy(t testing.TB, logits bool) (agents.Policy, *envs.Spec, nets.Engine) {
	t.Helper()
	s, e := spec(4), native.New(native.Options{})
	p := must.Get(choice.NewProblem(s))(t)
	arch := p.Arch([]int{5}, nets.Tanh, 0, p.N)
	net := must.Get(e.NewNet(arch))(t)
	net.Params().Set(nets.InitialParams(arch, rng.New(1, "test")))
	k := actor.Kind{Head: actor.Values, Network: actor.Network{Arch: arch}}
	if logits {
		k.Head = actor.Softmax
	}
	out := must.Get(actor.Source{Agent: "test", Spec: s, Train: e, Act: e}.Policy(actor.Part{Kind: k, Params: net.Params()}))(t)
	return out, s, e
}

// Under random masks a policy does only what is legal, in both of its ways; where scores are values it never draws.
func TestPolicyIsLegal(t *testing.T) {
	for _, logits := range []bool{false, true} {
		p, s, _ := policy(t, logits)
		obs, act, again, stream := envs.NewObservation(s), envs.NewAction(s), envs.NewAction(s), rng.NewStream(1, "test")
		o := &obs.Kinds[0]
		differ := 0
		for n := range 2_000 {
			for i := range o.Values {
				o.Values[i] = float32(stream.Norm())
			}
			for j := range o.Active {
				o.Active[j] = j == 0 || n%3 > 0
				must := stream.IntN(4)
				for k := range 4 {
					o.Mask[j*4+k] = k == must || stream.IntN(2) == 0
				}
			}
			must.Do(t, p.Act(obs, act, n%2 == 0))
			for j, here := range o.Active {
				c := int(act.Kinds[0][j])
				if here && !o.Mask[j*4+c] || !here && c != 0 {
					t.Fatalf("logits %v: agent %d (here: %v) did %d under %v", logits, j, here, c, o.Mask[j*4:j*4+4])
				}
			}
			must.Do(t, p.Act(obs, again, true))
			if !slices.Equal(act.Kinds[0], again.Kinds[0]) {
				differ++
			}
		}
		if (differ > 0) != logits {
			t.Errorf("logits %v: %d actions were drawn", logits, differ)
		}
		clear(o.Mask)
		o.Active[0] = true
		if err := p.Act(obs, act, true); err == nil || !strings.Contains(err.Error(), "one 0: no choice is legal") {
			t.Errorf("a mask without a legal choice gave %v", err)
		}
	}
}

func TestPolicyFileRefused(t *testing.T) {
	p, s, e := policy(t, true)
	f := must.Get(p.Export())(t)
	change := func(do func(*agents.PolicyFile)) *agents.PolicyFile {
		g := *f
		g.Arrays = map[string]agents.Array{"one.network": f.Arrays["one.network"]}
		do(&g)
		return &g
	}
	for _, k := range []struct {
		file *agents.PolicyFile
		spec *envs.Spec
		want string
	}{
		{change(func(f *agents.PolicyFile) { f.EnvID = "other" }), s, "trained for other"},
		{change(func(f *agents.PolicyFile) { f.Description = []byte("{") }), s, "description"},
		{change(func(f *agents.PolicyFile) {
			f.Description = []byte(strings.Replace(string(f.Description), "softmax", "gaussian", 1))
		}), s, `head "gaussian" does not give`},
		{change(func(f *agents.PolicyFile) {
			f.Description = []byte(strings.Replace(string(f.Description), "softmax", "hard", 1))
		}), s, `head is "hard", want one of`},
		{change(func(f *agents.PolicyFile) { f.Description = []byte(`{"format":"ppo/1"}`) }), s, "another version of Stoker"},
		{change(func(f *agents.PolicyFile) {
			f.Description = []byte(strings.Replace(string(f.Description), `"one"`, `"two"`, 1))
		}), s, `is of "two", the environment has "one"`},
		{change(func(f *agents.PolicyFile) { f.Arrays = nil }), s, "has 0 numbers"},
		{f, spec(5), "trained for the actions"},
	} {
		if _, err := actor.Open(k.file, k.spec, e); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("error %v, want one with %q", err, k.want)
		}
	}
	q := must.Get(actor.Open(f, s, e))(t)
	b := must.Get(p.AppendBinary(nil))(t)
	if err := q.UnmarshalBinary(b); err != nil {
		t.Error(err)
	}
	if err := q.UnmarshalBinary(b[1:]); err == nil {
		t.Error("another policy's state was taken")
	}
	if err := q.CopyFrom(p); err != nil {
		t.Error(err)
	}
}

func TestPolicyDoesNotAllocate(t *testing.T) {
	p, s, _ := policy(t, true)
	obs, act := envs.NewObservation(s), envs.NewAction(s)
	for i := range obs.Kinds[0].Mask {
		obs.Kinds[0].Mask[i] = true
	}
	obs.Kinds[0].Active[0], obs.Kinds[0].Active[1] = true, true
	if n := testing.AllocsPerRun(100, func() {
		must.Do(t, p.Act(obs, act, false))
	}); n > 0 {
		t.Errorf("acting allocates %g times", n)
	}
}

// Damaged and foreign files are refused with the reason.
func TestHeldRefuses(t *testing.T) {
	box := envs.Box{Low: []float32{-5, -5, -5, 0, 0}, High: []float32{5, 5, 5, 10, 10},
		Integer: []bool{false, false, false, false, true}}
	spec := &envs.Spec{ID: "test/Held-v1", Kinds: []envs.Kind{{Name: "one", Agents: 1, Observation: envs.NewBox(1, 0, 1),
		Action: box}}}
	p := must.Get(actor.Source{Agent: "test", Spec: spec}.Policy(actor.Part{Kind: actor.Kind{Head: actor.Held},
		Held: []float32{1, 1, 1, 5, 8}}))(t)
	good := must.Get(p.Export())(t)
	array := func(x ...float32) func(f *agents.PolicyFile) {
		return func(f *agents.PolicyFile) { f.Arrays["one.action"] = agents.Array{Shape: []int{1, len(x)}, Data: x} }
	}
	for want, change := range map[string]func(f *agents.PolicyFile){
		"trained for test/Other-v1":        func(f *agents.PolicyFile) { f.EnvID = "test/Other-v1" },
		"format 2, want":                   func(f *agents.PolicyFile) { f.Description = []byte(`{"format":2}`) },
		"description: json: unknown field": func(f *agents.PolicyFile) { f.Description = []byte(`{"format":"actor/1","prices":3}`) },
		"0 numbers, want 5":                func(f *agents.PolicyFile) { delete(f.Arrays, "one.action") },
		"4 numbers, want 5":                array(1, 1, 1, 5),
		"component 0 is 6, want [-5, 5]":   array(6, 1, 1, 5, 8),
		"component 4 is 8.5, want a whole": array(1, 1, 1, 5, 8.5),
	} {
		f := *good
		f.Arrays = maps.Clone(good.Arrays)
		change(&f)
		if _, err := actor.Open(&f, spec, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

// An action can be held by the only kind of agents alone.
func TestHeldBesideOthersRefused(t *testing.T) {
	kind := envs.Kind{Name: "one", Agents: 1, Observation: envs.NewBox(1, 0, 1), Action: envs.NewBox(1, 0, 1)}
	spec := &envs.Spec{ID: "test/Held-v1", Kinds: []envs.Kind{kind, kind}}
	spec.Kinds[1].Name = "other"
	held := actor.Part{Kind: actor.Kind{Head: actor.Held}, Held: []float32{0.5}}
	_, err := actor.Source{Agent: "test", Spec: spec}.Policy(held, held)
	if err == nil || !strings.Contains(err.Error(), "has no network") {
		t.Errorf("two kinds that hold an action: %v", err)
	}
}

// Shared weights have one deviation for all agents, and act for any number of them.
func TestSharedGaussian(t *testing.T) {
	e := native.New(native.Options{})
	world := func(n int) *envs.Spec {
		return &envs.Spec{ID: "test/Shared-v1", Kinds: []envs.Kind{{Name: "one", Agents: n, Observation: envs.NewBox(1, -1, 1),
			Action: envs.NewBox(1, -1, 1)}}}
	}
	arch := nets.MLP{Agents: 2, Shared: true, In: []nets.Port{{Name: "observation", Width: 1}}, Out: 1, Activation: nets.Tanh}
	net := must.Get(e.NewNet(arch))(t)
	net.Params().Set([]float32{0.5, 0}) // weight, bias
	part := actor.Part{Params: net.Params(), LogStd: [][]float64{{-20}}}
	part.Head, part.Bounds, part.Network.Arch = actor.Gaussian, actor.Clip, arch
	p := must.Get(actor.Source{Agent: "test", Spec: world(2), Train: e, Act: e}.Policy(part))(t)
	f := must.Get(p.Export())(t)
	q := must.Get(actor.Open(f, world(3), e))(t)
	obs, act := envs.NewObservation(world(3)), envs.NewAction(world(3))
	for j := range 3 {
		obs.Kinds[0].Active[j], obs.Kinds[0].Values[j] = true, float32(j)/4
	}
	must.Do(t, q.Act(obs, act, false))
	for j, x := range act.Kinds[0] {
		if d := x - float32(j)/8; d > 1e-6 || d < -1e-6 {
			t.Errorf("agent %d does %g, want %g", j, x, float32(j)/8)
		}
	}
}
