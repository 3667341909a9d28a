package native

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// normal returns n draws from the standard normal law.
func normal(s *rng.Stream, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = s.Norm()
	}
	return x
}

// newNormal returns a tensor of standard normal numbers.
func newNormal(e nets.Engine, s *rng.Stream, shape ...int) nets.Tensor {
	t := e.NewTensor(shape...)
	t.Set64(normal(s, nets.Size(t)))
	return t
}

func values(t nets.Tensor) []float64 {
	x := make([]float64, nets.Size(t))
	t.Get64(x)
	return x
}

// of returns a tensor with given numbers.
func of(e nets.Engine, x []float64, shape ...int) nets.Tensor {
	t := e.NewTensor(shape...)
	t.Set64(x)
	return t
}

func mustNet(t testing.TB, e nets.Engine, a nets.Arch) nets.Net {
	t.Helper()
	n, err := e.NewNet(a)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func noError(t testing.TB, e nets.Engine) {
	t.Helper()
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
}

// subject is a network with random parameters, inputs and gradient by its output.
type subject struct {
	net  nets.Net
	work nets.Work
	in   []nets.Tensor
	g    nets.Tensor
}

func newSubject(t testing.TB, e nets.Engine, a nets.Arch, batch int, seed uint64) subject {
	t.Helper()
	s := rng.NewStream(seed, "subject")
	x := subject{net: mustNet(t, e, a)}
	p := normal(s, nets.Size(x.net.Params()))
	for i := range p {
		p[i] *= 0.7
	}
	x.net.Params().Set64(p)
	x.work = x.net.NewWork(batch)
	for _, port := range a.Inputs() {
		x.in = append(x.in, newNormal(e, s, a.AgentCount(), batch, port.Width))
	}
	x.g = newNormal(e, s, a.AgentCount(), batch, a.Output().Width)
	noError(t, e)
	return x
}

func (x subject) forward() []float64 { return values(x.net.Forward(x.work, x.in...)) }

// near wants every number within tol times the largest of want (or of 1e-3, for gradients that are all but zero).
func near(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := 1e-3
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*scale) {
			t.Fatalf("%s: value %d is %g, want %g within %g", what, i, got[i], want[i], tol*scale)
		}
	}
}

// archs are networks of every kind, odd in their sizes.
func archs() map[string]nets.Arch {
	ports := []nets.Port{{Name: "state", Width: 3}, {Name: "action", Width: 2}}
	mlp := func(change func(*nets.MLP)) nets.MLP {
		m := nets.MLP{Agents: 3, In: ports, Hidden: []int{7, 4}, Out: 2, Activation: nets.Tanh}
		if change != nil {
			change(&m)
		}
		return m
	}
	ring := [][]int{{1}, {0, 2}, {}}
	selfish := [][]int{{0, 1}, {2, 0, 1}, {1}}
	field := func(mix, score string, others bool, list [][]int, change func(*nets.MLP)) nets.MeanField {
		f := nets.MeanField{MLP: mlp(change), Mix: mix, Others: others, Neighbours: list}
		if mix == nets.Attention {
			f.Score, f.Keys = score, 5
		}
		return f
	}
	shared := func(m *nets.MLP) { m.Shared = true }
	norm := func(m *nets.MLP) { m.Norm, m.Shared = nets.LayerNorm, true }
	out := map[string]nets.Arch{
		"mlp tanh":         mlp(nil),
		"mlp relu":         mlp(func(m *nets.MLP) { m.Activation = nets.ReLU }),
		"mlp shared":       mlp(shared),
		"mlp one port":     mlp(func(m *nets.MLP) { m.In = ports[:1] }),
		"mlp no hidden":    mlp(func(m *nets.MLP) { m.Hidden = nil }),
		"mlp sigmoid":      mlp(func(m *nets.MLP) { m.Final = nets.Sigmoid }),
		"mlp final tanh":   mlp(func(m *nets.MLP) { m.Final = nets.Tanh }),
		"mlp norm":         mlp(func(m *nets.MLP) { m.Norm = nets.LayerNorm }),
		"mlp norm shared":  mlp(norm),
		"mlp one agent":    mlp(func(m *nets.MLP) { m.Agents, m.Shared = 1, true }),
		"gumbel":           nets.GumbelSoftmax{Agents: 3, Segments: []int{3, 1, 2}, Temperature: 0.7},
		"mean":             field(nets.Mean, "", false, ring, nil),
		"mean others":      field(nets.Mean, "", true, selfish, shared),
		"joint":            field(nets.Joint, "", false, nil, nil),
		"joint shared":     field(nets.Joint, "", false, nil, shared),
		"joint others":     field(nets.Joint, "", true, nil, nil),
		"attention norm":   field(nets.Attention, nets.Exp, false, selfish, norm),
		"attention sharp":  field(nets.Attention, nets.Exp, true, selfish, shared),
		"attention others": field(nets.Attention, nets.Exp, true, ring, nil),
	}
	for _, score := range []string{nets.Exp, nets.Squared} {
		out["attention "+score] = field(nets.Attention, score, false, ring, nil)
		out["attention self "+score] = field(nets.Attention, score, false, selfish, nil)
		out["attention shared "+score] = field(nets.Attention, score, false, ring, shared)
		out["attention others self "+score] = field(nets.Attention, score, true, selfish, nil)
	}
	return out
}
