package choice

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

func TestBest(t *testing.T) {
	for _, k := range []struct {
		scores []float32
		mask   []bool
		want   int
	}{
		{[]float32{1, 3, 3, 2}, []bool{true, true, true, true}, 1},
		{[]float32{1, 3, 3, 2}, []bool{true, false, false, true}, 3},
		{[]float32{-9, 3}, []bool{true, false}, 0},
		{[]float32{1, 2}, []bool{false, false}, None},
	} {
		if got := Best(k.scores, k.mask); got != k.want {
			t.Errorf("best of %v under %v is %d, want %d", k.scores, k.mask, got, k.want)
		}
	}
}

// Draws follow the softmax over the legal choices, and what is illegal is never drawn, whatever its score.
func TestDrawFollowsTheSoftmax(t *testing.T) {
	scores, mask := []float32{0, 50, 1, -1}, []bool{true, false, true, true}
	want := []float64{math.Exp(0), 0, math.Exp(1), math.Exp(-1)}
	total := want[0] + want[2] + want[3]
	p, counts := make([]float64, 4), make([]float64, 4)
	Softmax(p, scores, mask)
	s := rng.NewStream(1, "test")
	const n = 100_000
	for range n {
		counts[Draw(p, s.Float64())]++
	}
	for i, w := range want {
		w /= total
		if math.Abs(p[i]-w) > 1e-15 {
			t.Errorf("choice %d has probability %g, want %g", i, p[i], w)
		}
		if d := math.Abs(counts[i]/n - w); d > 4*math.Sqrt(w*(1-w)/n) {
			t.Errorf("choice %d was drawn in %g of all cases, want %g", i, counts[i]/n, w)
		}
	}
	Softmax(p, scores, make([]bool, 4))
	if c := Draw(p, 0.5); c != None {
		t.Errorf("drew %d where nothing is legal", c)
	}
	if c := Draw([]float64{0, 1, 0}, math.Nextafter(1, 0)); c != 1 {
		t.Errorf("drew %d, want the only one there is", c)
	}
}

func TestUniformIsLegal(t *testing.T) {
	s, counts := rng.NewStream(1, "test"), make([]float64, 4)
	const n = 30_000
	for range n {
		counts[Uniform([]bool{true, false, true, true}, s)]++
	}
	for i, want := range []float64{1. / 3, 0, 1. / 3, 1. / 3} {
		if math.Abs(counts[i]/n-want) > 4*math.Sqrt(want/n) {
			t.Errorf("choice %d in %g of all cases, want %g", i, counts[i]/n, want)
		}
	}
	if c := Uniform(make([]bool, 3), s); c != None {
		t.Errorf("drew %d where nothing is legal", c)
	}
}

func spec(n int) *envs.Spec {
	return &envs.Spec{ID: "test/Choice-v1",
		Kinds: []envs.Kind{{Name: "one", Agents: 2, Observation: envs.NewBox(3, -1, 1), Action: envs.Discrete{N: n}}}}
}

func TestProblemRefuses(t *testing.T) {
	two, box, graph, several := spec(2), spec(2), spec(2), spec(2)
	two.Kinds = append(two.Kinds, two.Kinds[0])
	box.Kinds[0].Action = envs.NewBox(1, 0, 1)
	graph.Kinds[0].Observation = envs.Graph{}
	several.Kinds[0].Action = envs.MultiDiscrete{N: []int{2, 3}}
	for _, k := range []struct {
		s    *envs.Spec
		want string
	}{{two, "2 kinds"}, {box, "want Discrete"}, {graph, "want a vector"}, {several, "2 components"}} {
		if _, err := NewProblem(k.s); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("error %v, want one with %q", err, k.want)
		}
	}
	p, err := NewProblem(spec(4))
	if err != nil || p.N != 4 || p.Obs != 3 || p.Agents != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

func policy(t testing.TB, logits bool) (*Policy, *envs.Spec, nets.Engine) {
	t.Helper()
	s, e := spec(4), native.New(native.Options{})
	p, err := NewProblem(s)
	if err != nil {
		t.Fatal(err)
	}
	arch := p.Arch([]int{5}, nets.Tanh, 0, p.N)
	net, err := e.NewNet(arch)
	if err != nil {
		t.Fatal(err)
	}
	net.Params().Set(nets.InitialParams(arch, rng.New(1, "test")))
	out, err := NewPolicy("test", logits, s, e, net, e)
	if err != nil {
		t.Fatal(err)
	}
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
			if err := p.Act(obs, act, n%2 == 0); err != nil {
				t.Fatal(err)
			}
			for j, here := range o.Active {
				c := int(act.Kinds[0][j])
				if here && !o.Mask[j*4+c] || !here && c != 0 {
					t.Fatalf("logits %v: agent %d (here: %v) did %d under %v", logits, j, here, c, o.Mask[j*4:j*4+4])
				}
			}
			if err := p.Act(obs, again, true); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(act.Kinds[0], again.Kinds[0]) {
				differ++
			}
		}
		if (differ > 0) != logits {
			t.Errorf("logits %v: %d actions were drawn", logits, differ)
		}
		clear(o.Mask)
		o.Active[0] = true
		if err := p.Act(obs, act, true); err == nil || !strings.Contains(err.Error(), "one 0 has no legal choice") {
			t.Errorf("a mask without a legal choice gave %v", err)
		}
	}
}

func TestPolicyFileRefused(t *testing.T) {
	p, s, e := policy(t, true)
	f, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	change := func(do func(*agents.PolicyFile)) *agents.PolicyFile {
		g := *f
		g.Arrays = map[string]agents.Array{array: f.Arrays[array]}
		do(&g)
		return &g
	}
	for _, k := range []struct {
		file *agents.PolicyFile
		spec *envs.Spec
		want string
	}{
		{change(func(f *agents.PolicyFile) { f.Agent = "other" }), s, `made by agent "other"`},
		{change(func(f *agents.PolicyFile) { f.EnvID = "other" }), s, "trained for other"},
		{change(func(f *agents.PolicyFile) { f.Description = []byte("{") }), s, "description"},
		{change(func(f *agents.PolicyFile) {
			f.Description = []byte(strings.Replace(string(f.Description), "true", "false", 1))
		}), s, "logits false"},
		{change(func(f *agents.PolicyFile) { f.Arrays = nil }), s, "has 0 numbers"},
		{f, spec(5), "and 5 choices"},
	} {
		if _, err := OpenPolicy("test", true, k.file, k.spec, e); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("error %v, want one with %q", err, k.want)
		}
	}
	q, err := OpenPolicy("test", true, f, s, e)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
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
		if err := p.Act(obs, act, false); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("acting allocates %g times", n)
	}
}
