package tile

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
	"github.com/stoker-rl/stoker/rng"
)

// acting is a network that acts on a batch, and learns from it.
type acting struct {
	e       nets.Engine
	net     nets.Net
	work    nets.Work
	in      []nets.Tensor
	g       nets.Tensor
	out     []float32
	samples []float32
}

func newActing(t testing.TB, set *kernel.Set, o Options, m nets.MLP, batch int) *acting {
	t.Helper()
	s := core.NewState(false)
	e := core.New[*Tensor](s, nets.Float32, New(s, set, o), nil)
	n := must.Get(e.NewNet(m))(t)
	draws := rng.NewStream(1, "acting")
	normal := func(count int) []float32 {
		x := make([]float32, count)
		for i := range x {
			x[i] = float32(draws.Norm())
		}
		return x
	}
	n.Params().Set(normal(nets.Size(n.Params())))
	a := &acting{e: e, net: n, work: n.NewWork(batch), in: []nets.Tensor{e.NewTensor(m.Agents, batch, m.In[0].Width)},
		g: e.NewTensor(m.Agents, batch, m.Out)}
	a.samples, a.out = normal(nets.Size(a.in[0])), make([]float32, nets.Size(a.g))
	a.g.Set(normal(len(a.out)))
	return a
}

// act is what a policy does each step.
func (a *acting) act() {
	a.in[0].Set(a.samples)
	a.net.Forward(a.work, a.in...).Get(a.out)
}

// learn is what follows a forward pass: the gradients w.r.t. parameters, which have changed since, and inputs.
func (a *acting) learn() (params, inputs []float32) {
	a.e.Add(a.net.Params(), 0.5, a.net.Params())
	a.net.ZeroGrads()
	a.net.Backward(a.work, a.g, nets.Both)
	params, inputs = make([]float32, nets.Size(a.net.Grads())), make([]float32, len(a.samples))
	a.net.Grads().Get(params)
	a.work.GradIn(0).Get(inputs)
	return params, inputs
}

// A few samples give the same bits by rows and by tiles, with every family of kernels: outputs, infinite and NaN ones
// too, and gradients after them.
func TestRowsAreTiles(t *testing.T) {
	sets := []*kernel.Set{kernel.Reference()}
	for _, name := range []string{"avx2", "avx512"} {
		if set, err := kernel.Named(name); err == nil {
			sets = append(sets, set)
		}
	}
	for _, set := range sets {
		for _, activation := range []string{nets.ReLU, nets.Tanh} {
			for _, final := range []string{nets.None, nets.Tanh, nets.Sigmoid} {
				for batch := 1; batch <= 17; batch++ {
					m := nets.MLP{In: []nets.Port{{Name: "observation", Width: 19}}, Hidden: []int{33, 5}, Out: 3,
						Activation: activation, Final: final}
					m.Agents, m.Shared = 1+batch%6, batch%2 == 0
					what := fmt.Sprintf("%s, %s, %s, %d agents, batch %d", set.Name, activation, final, m.Agents, batch)
					rows := newActing(t, set, Options{Threads: 1}, m, batch)
					tiles := newActing(t, set, Options{Threads: 1, Tiles: true}, m, batch)
					for round := range 3 {
						for _, a := range []*acting{rows, tiles} {
							switch round {
							case 1:
								a.samples[0] = float32(math.Inf(1))
							case 2:
								a.samples[len(a.samples)-1] = float32(math.NaN())
							}
							a.act()
						}
						same(t, what+", outputs", rows.out, tiles.out)
					}
					for range 2 { // the second pass backward is of a forward pass of other parameters
						for _, a := range []*acting{rows, tiles} {
							a.samples[0], a.samples[len(a.samples)-1] = 1, -1
							a.act()
						}
						gotParams, gotInputs := rows.learn()
						params, inputs := tiles.learn()
						same(t, what+", gradients w.r.t. parameters", gotParams, params)
						same(t, what+", gradients w.r.t. inputs", gotInputs, inputs)
					}
					for _, a := range []*acting{rows, tiles} {
						must.Do(t, a.e.Err())
					}
				}
			}
		}
	}
}

// same wants equal bits, and NaN where NaN is wanted.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(x, y float32) bool {
		return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
	}) {
		t.Errorf("%s: %v, by tiles %v", what, got, want)
	}
}

// Acting on a few samples allocates nothing, nor does learning from them after the first time.
func TestRowsAllocateNothing(t *testing.T) {
	m := nets.MLP{Agents: 3, In: []nets.Port{{Name: "observation", Width: 7}}, Hidden: []int{9}, Out: 2,
		Activation: nets.Tanh}
	a := newActing(t, kernel.Reference(), Options{Threads: 1}, m, 6)
	for name, f := range map[string]func(){
		"acting": a.act,
		"learning": func() {
			a.act()
			a.net.Backward(a.work, a.g, nets.Params)
		},
	} {
		f()
		if n := testing.AllocsPerRun(20, f); n != 0 {
			t.Errorf("%s: %g allocations, want none", name, n)
		}
	}
}

// BenchmarkAct is a forward pass of the shipped sizing policy's network and of a small one, by the number of samples and
// by the way they go.
func BenchmarkAct(b *testing.B) {
	for _, size := range [][2]int{{37, 128}, {4, 64}, {16, 16}} {
		m := nets.MLP{Agents: 1, Shared: true, In: []nets.Port{{Name: "observation", Width: size[0]}},
			Hidden: []int{size[1], size[1]}, Out: 4, Activation: nets.Tanh}
		for _, batch := range []int{2, 4, 6, 8, 10, 12, 16} {
			for way, tiles := range map[string]bool{"rows": false, "tiles": true} {
				b.Run(fmt.Sprintf("%d-%d-%d/%d/%s", size[0], size[1], size[1], batch, way), func(b *testing.B) {
					a := newActing(b, kernel.Best(), Options{Threads: 1, Tiles: tiles}, m, batch)
					b.ReportAllocs()
					for b.Loop() {
						a.act()
					}
				})
			}
		}
	}
}
