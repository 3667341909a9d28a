//go:build libtorch

package torch

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// open counts the engines of a test, baseline the tensors before the first.
var (
	open     int
	baseline int64
)

// newEngine returns an engine that is closed at the test's end. Then none of its tensors may be left.
func newEngine(t testing.TB, d nets.DType) *engine {
	t.Helper()
	if open == 0 {
		baseline = Live()
	}
	open++
	e := must.Get(New(Options{DType: d}))(t)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if open--; open > 0 {
			return
		}
		if left := Live() - baseline; left != 0 {
			t.Errorf("%d tensors are left after Close", left)
		}
	})
	return e.(*engine)
}

func ok(t testing.TB, e nets.Engine) {
	t.Helper()
	must.Do(t, e.Err())
}

// draws are numbers in ±1 that depend only on the name.
func draws(name string, n int) []float64 {
	k := rng.New(7, name)
	out := make([]float64, n)
	for i := range out {
		out[i] = 2*k.With(uint64(i)).Float64() - 1
	}
	return out
}

func made(e nets.Engine, values []float64, shape ...int) nets.Tensor {
	x := e.NewTensor(shape...)
	x.Set64(values)
	return x
}

func random(e nets.Engine, name string, shape ...int) nets.Tensor {
	x := e.NewTensor(shape...)
	x.Set64(draws(name, nets.Size(x)))
	return x
}

func values(x nets.Tensor) []float64 {
	out := make([]float64, nets.Size(x))
	x.Get64(out)
	return out
}

// near compares with a tolerance relative to the largest wanted value.
func near(t testing.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	largest := 1e-30
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= tolerance*largest) {
			t.Fatalf("%s: value %d is %.12g, want %.12g (off by %.2g, allowed %.2g)", what, i, got[i], want[i], d,
				tolerance*largest)
		}
	}
}

// architectures are small networks of all kinds, with all their options.
func architectures() map[string]nets.Arch {
	all := map[string]nets.Arch{}
	in := []nets.Port{{Name: "s", Width: 3}, {Name: "a", Width: 2}}
	mlp := func(edit func(*nets.MLP)) nets.MLP {
		m := nets.MLP{Agents: 3, In: in, Hidden: []int{5, 4}, Out: 2, Activation: nets.Tanh}
		edit(&m)
		return m
	}
	for _, shared := range []bool{false, true} {
		name := func(kind string) string { return fmt.Sprintf("%s, shared %v", kind, shared) }
		all[name("mlp tanh")] = mlp(func(m *nets.MLP) { m.Shared = shared })
		all[name("mlp relu sigmoid norm")] = mlp(func(m *nets.MLP) {
			m.Shared, m.Activation, m.Final, m.Norm = shared, nets.ReLU, nets.Sigmoid, nets.LayerNorm
		})
		all[name("linear, one input")] = mlp(func(m *nets.MLP) {
			m.Shared, m.Hidden, m.Final, m.In = shared, nil, nets.Tanh, in[:1]
		})
		for _, others := range []bool{false, true} {
			for _, f := range []nets.MeanField{
				{Mix: nets.Attention, Score: nets.Exp, Keys: 4},
				{Mix: nets.Attention, Score: nets.Squared, Keys: 4},
				{Mix: nets.Mean},
				{Mix: nets.Joint},
			} {
				f.MLP = mlp(func(m *nets.MLP) { m.Shared = shared })
				f.Others = others
				kind := fmt.Sprintf("%s%s, others %v", f.Mix, f.Score, others)
				if f.Mix != nets.Joint {
					f.Neighbours = [][]int{{1, 2}, {0}, {}}
				}
				all[name(kind)] = f
				if f.Mix != nets.Joint {
					f.Neighbours = [][]int{{0, 1}, {2, 1, 0}, {2}}
					all[name(kind+", self")] = f
				}
			}
		}
	}
	all["gumbel"] = nets.GumbelSoftmax{Agents: 2, Segments: []int{3, 1, 4}, Temperature: 0.7}
	all["squashed action"] = nets.SquashedGaussian{Agents: 2, Actions: 3}
	all["squashed log-prob"] = nets.SquashedGaussian{Agents: 2, Actions: 3, LogProb: true}
	all["soft value"] = nets.SoftValue{Agents: 2}
	all["one agent"] = nets.MLP{Agents: 1, In: in, Hidden: []int{4}, Out: 2, Activation: nets.Tanh}
	return all
}

// eachArchitecture runs a test per architecture, in a fixed order.
func eachArchitecture(t *testing.T, f func(t *testing.T, a nets.Arch)) {
	all := architectures()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { f(t, all[name]) })
	}
}

// pass is a network with random parameters and inputs.
type pass struct {
	net  nets.Net
	work nets.Work
	in   []nets.Tensor
}

func newPass(t testing.TB, e nets.Engine, a nets.Arch, batch int) pass {
	t.Helper()
	n := must.Get(e.NewNet(a))(t)
	n.Params().Set64(draws("params", nets.Size(n.Params())))
	p := pass{net: n, work: n.NewWork(batch)}
	for _, port := range a.Inputs() {
		p.in = append(p.in, random(e, port.Name, a.AgentCount(), batch, port.Width))
	}
	ok(t, e)
	return p
}
