package nets_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"

	"github.com/stoker-rl/stoker/rng"
)

// small architectures of every kind; the golden values below rest on them.
func specimens() map[string]nets.Arch {
	mlp := nets.MLP{
		Agents: 2, In: []nets.Port{{"state", 3}, {"action", 2}}, Hidden: []int{4, 3}, Out: 2,
		Activation: nets.ReLU, Norm: nets.LayerNorm, Final: nets.Sigmoid, FinalBound: 0.003,
	}
	shared := mlp
	shared.Shared = true
	return map[string]nets.Arch{
		"mlp":    mlp,
		"shared": shared,
		"attention": nets.MeanField{
			MLP: shared, Mix: nets.Attention, Score: nets.Exp, Keys: 6, Neighbours: [][]int{{1}, {0, 1}}, Others: true,
		},
		"mean":     nets.MeanField{MLP: mlp, Mix: nets.Mean, Neighbours: [][]int{{1}, {}}},
		"joint":    nets.MeanField{MLP: mlp, Mix: nets.Joint},
		"gumbel":   nets.GumbelSoftmax{Agents: 2, Segments: []int{3, 1, 2}, Temperature: 0.5, Hard: true},
		"squashed": nets.SquashedGaussian{Agents: 2, Actions: 3},
		"soft":     nets.SoftValue{Agents: 2},
		"graph":    cluster(),
	}
}

// Checkpoints hold flat vectors in this order: a change makes them unreadable.
func TestLayout(t *testing.T) {
	for name, want := range map[string]string{
		"mlp": "layer0.weight[5 4]@0 layer0.bias[4]@20 layer0.gain[4]@24 layer0.offset[4]@28 layer1.weight[4 3]@32 layer1.bias[3]@44 " +
			"layer1.gain[3]@47 layer1.offset[3]@50 layer2.weight[3 2]@53 layer2.bias[2]@59 =61",
		"attention": "layer0.weight[10 4]@0 layer0.bias[4]@40 layer0.gain[4]@44 layer0.offset[4]@48 layer1.weight[4 3]@52 layer1.bias[3]@64 " +
			"layer1.gain[3]@67 layer1.offset[3]@70 layer2.weight[3 2]@73 layer2.bias[2]@79 query.weight[5 6]@81 key.weight[5 6]@111 =141",
		"mean": "layer0.weight[10 4]@0 layer0.bias[4]@40 layer0.gain[4]@44 layer0.offset[4]@48 layer1.weight[4 3]@52 layer1.bias[3]@64 " +
			"layer1.gain[3]@67 layer1.offset[3]@70 layer2.weight[3 2]@73 layer2.bias[2]@79 =81",
		"gumbel": "=0",
	} {
		slots, size := nets.Layout(specimens()[name])
		var got strings.Builder
		for _, s := range slots {
			got.WriteString(s.Name)
			got.WriteString(sprint(s.Shape) + "@" + sprint(s.Offset) + " ")
		}
		got.WriteString("=" + sprint(size))
		if got.String() != want {
			t.Errorf("%s: layout is\n%s\nwas\n%s", name, got.String(), want)
		}
	}
}

// Initial values lie within their laws' bounds and fill them; gains start at 1 and offsets at 0.
func TestInitialParams(t *testing.T) {
	for name, a := range specimens() {
		slots, size := nets.Layout(a)
		p := nets.InitialParams(a, rng.New(1, "initial"))
		if len(p) != a.Groups()*size {
			t.Fatalf("%s: %d initial values, want %d groups of %d", name, len(p), a.Groups(), size)
		}
		for g := range a.Groups() {
			for _, s := range slots {
				widest := 0.0
				for _, v := range p[g*size+s.Offset:][:s.Size()] {
					d := math.Abs(float64(v) - s.Init.Centre)
					if d > s.Init.Bound*(1+1e-6) {
						t.Errorf("%s: %s of group %d has %g, want within %g of %g", name, s.Name, g, v, s.Init.Bound, s.Init.Centre)
					}
					widest = max(widest, d)
				}
				if s.Size() >= 12 && widest < 0.6*s.Init.Bound { // 0.6¹² is below 0.003
					t.Errorf("%s: %s of group %d keeps within %g, its bound is %g", name, s.Name, g, widest, s.Init.Bound)
				}
			}
		}
	}
	// PyTorch's law: ±1/√in for weights and biases.
	for i, want := range []float64{1 / math.Sqrt(5), 1 / math.Sqrt(5), 0, 0, 0.5, 0.5, 0, 0, 0.003, 0.003} {
		if p := specimens()["mlp"].Parameters()[i]; math.Abs(p.Init.Bound-want) > 1e-15 {
			t.Errorf("%s starts within %g, want %g", p.Name, p.Init.Bound, want)
		}
	}
}

// Initial values belong to a seed for good: runs are repeated from them. Another agent leaves the first ones'
// as they are.
func TestInitialParamsGolden(t *testing.T) {
	a := specimens()["mlp"].(nets.MLP)
	p := nets.InitialParams(a, rng.New(7, "golden"))
	_, size := nets.Layout(a)
	for i, want := range map[int]float32{0: goldenInitial[0], 24: 1, 28: 0, 53: goldenInitial[1],
		size: goldenInitial[2], 2*size - 1: goldenInitial[3]} {
		if p[i] != want {
			t.Errorf("initial value %d is %v, was %v", i, p[i], want)
		}
	}
	a.Agents = 3
	if more := nets.InitialParams(a, rng.New(7, "golden")); !reflect.DeepEqual(more[:len(p)], p) {
		t.Error("a third agent changed the first two's initial values")
	}
}

// goldenInitial was computed by this package when the format was fixed (November 2026).
var goldenInitial = [4]float32{-0.18578778, -0.00054603664, 0.07912482, -0.00052351365}

// What is wrong with a description is said by field.
func TestValidate(t *testing.T) {
	for name, a := range specimens() {
		if err := a.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	mlp := func(change func(*nets.MLP)) nets.Arch {
		m := specimens()["mlp"].(nets.MLP)
		change(&m)
		return m
	}
	field := func(change func(*nets.MeanField)) nets.Arch {
		m := specimens()["attention"].(nets.MeanField)
		change(&m)
		return m
	}
	gumbel := func(change func(*nets.GumbelSoftmax)) nets.Arch {
		g := specimens()["gumbel"].(nets.GumbelSoftmax)
		change(&g)
		return g
	}
	for _, c := range []struct {
		arch nets.Arch
		want string
	}{
		{mlp(func(m *nets.MLP) { m.Agents = 0 }), "mlp: agents is 0"},
		{mlp(func(m *nets.MLP) { m.In = nil }), "in is empty"},
		{mlp(func(m *nets.MLP) { m.In = []nets.Port{{"x", -1}} }), `in[0].width ("x") is -1`},
		{mlp(func(m *nets.MLP) { m.Hidden = []int{4, 0} }), "hidden[1] is 0"},
		{mlp(func(m *nets.MLP) { m.Hidden = []int{math.MaxInt} }), "hidden[0] is"},
		{mlp(func(m *nets.MLP) { m.Hidden = []int{1 << 20, 1 << 20} }), "parameters, want at most"},
		{mlp(func(m *nets.MLP) { m.Out = 0 }), "out is 0"},
		{mlp(func(m *nets.MLP) { m.Activation = "gelu" }), `activation is "gelu", want one of ["relu" "tanh"]`},
		{mlp(func(m *nets.MLP) { m.Norm = "batch" }), `norm is "batch"`},
		{mlp(func(m *nets.MLP) { m.Final = "relu" }), `final is "relu"`},
		{mlp(func(m *nets.MLP) { m.FinalBound = -1 }), "final_bound is -1"},
		{mlp(func(m *nets.MLP) { m.FinalBound = math.NaN() }), "final_bound is NaN"},
		{field(func(m *nets.MeanField) { m.Agents = 0 }), "mean-field: agents is 0"},
		{field(func(m *nets.MeanField) { m.Mix = "" }), `mix is ""`},
		{field(func(m *nets.MeanField) { m.Score = "cubed" }), `score is "cubed"`},
		{field(func(m *nets.MeanField) { m.Keys = 0 }), "keys is 0"},
		{field(func(m *nets.MeanField) { m.Neighbours = m.Neighbours[:1] }), "neighbours lists 1 agents, want 2"},
		{field(func(m *nets.MeanField) { m.Neighbours = [][]int{{2}, {}} }), "neighbours[0] has 2"},
		{field(func(m *nets.MeanField) { m.Neighbours = [][]int{{}, {0, 0}} }), "neighbours[1] has 0"},
		{field(func(m *nets.MeanField) { m.Mix, m.Agents, m.Hidden = nets.Joint, 1<<24, []int{100} }), "parameters, want at most"},
		{gumbel(func(g *nets.GumbelSoftmax) { g.Agents = -3 }), "gumbel-softmax: agents is -3"},
		{gumbel(func(g *nets.GumbelSoftmax) { g.Segments = nil }), "segments is empty"},
		{gumbel(func(g *nets.GumbelSoftmax) { g.Segments[1] = 0 }), "segments[1] is 0"},
		{gumbel(func(g *nets.GumbelSoftmax) { g.Temperature = 0 }), "temperature is 0"},
		{gumbel(func(g *nets.GumbelSoftmax) { g.Temperature = math.Inf(1) }), "temperature is +Inf"},
		{nets.SquashedGaussian{Actions: 2}, "squashed-gaussian: agents is 0"},
		{nets.SquashedGaussian{Agents: 2, Actions: -1}, "squashed-gaussian: actions is -1"},
		{nets.SquashedGaussian{Agents: 2, Actions: 1 << 24}, "squashed-gaussian: actions is 16777216"},
		{nets.SoftValue{}, "soft-value: agents is 0"},
	} {
		if err := c.arch.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
}

// Inputs, outputs and groups of every kind.
func TestPorts(t *testing.T) {
	for name, want := range map[string]string{
		"mlp":       "2 agents, 2 groups, in [{state 3} {action 2}], out {out 2}",
		"shared":    "2 agents, 1 groups, in [{state 3} {action 2}], out {out 2}",
		"attention": "2 agents, 1 groups, in [{state 3} {action 2} {others'-action 2}], out {out 2}",
		"joint":     "2 agents, 2 groups, in [{state 3} {action 2}], out {out 2}",
		"gumbel":    "2 agents, 1 groups, in [{logits 6} {noise 6}], out {choice 6}",
		"squashed":  "2 agents, 1 groups, in [{moments 6} {noise 3}], out {action 3}",
		"soft":      "2 agents, 1 groups, in [{q1 1} {q2 1} {log-prob 1} {log-alpha 1}], out {value 1}",
	} {
		a := specimens()[name]
		if got := sprint(a.AgentCount(), "agents,", a.Groups(), "groups, in", sprint(a.Inputs())+",", "out",
			a.Output()); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	a := specimens()["attention"].(nets.MeanField)
	a.Inputs()
	if len(a.In) != 2 {
		t.Error("Inputs changed In")
	}
}
