package native_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/nets/native/internal/graph"
	"github.com/stoker-rl/stoker/nets/native/internal/tile"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// sharedNeighbours are networks whose agents have nearly the same neighbours.
func sharedNeighbours() map[string]nets.MeanField {
	const n = 19
	everyone := func(self bool) [][]int {
		lists := make([][]int, n)
		for i := range lists {
			for j := range n {
				if j != i || self {
					lists[i] = append(lists[i], j)
				}
			}
		}
		return lists
	}
	// Most agents see all others, some only a few: those cannot be processed together.
	some := everyone(false)
	some[4], some[5], some[18] = []int{1, 2}, nil, slices.Clone(some[18][:15])
	in := []nets.Port{{Name: "state", Width: 5}, {Name: "action", Width: 3}}
	field := func(lists [][]int, change func(*nets.MeanField)) nets.MeanField {
		m := nets.MeanField{
			MLP: nets.MLP{Agents: n, In: in, Hidden: []int{7}, Out: 2, Activation: nets.ReLU}, Mix: nets.Attention,
			Score: nets.Exp, Keys: 6, Neighbours: lists,
		}
		change(&m)
		return m
	}
	return map[string]nets.MeanField{
		"all others":           field(everyone(false), func(*nets.MeanField) {}),
		"all":                  field(everyone(true), func(*nets.MeanField) {}),
		"all, others apart":    field(everyone(true), func(m *nets.MeanField) { m.Others = true }),
		"others apart":         field(everyone(false), func(m *nets.MeanField) { m.Others = true }),
		"squared":              field(everyone(false), func(m *nets.MeanField) { m.Score = nets.Squared }),
		"shared":               field(everyone(false), func(m *nets.MeanField) { m.Shared = true }),
		"some of them":         field(some, func(*nets.MeanField) {}),
		"mean of all":          field(everyone(false), func(m *nets.MeanField) { m.Mix, m.Score, m.Keys = nets.Mean, "", 0 }),
		"one key, all of them": field(everyone(true), func(m *nets.MeanField) { m.Keys = 1 }),
	}
}

// newAlone returns an engine with tiles that processes the attention of each agent alone.
func newAlone(t testing.TB, o native.Options) nets.Engine {
	t.Helper()
	set := kernel.Reference()
	if o.Kernels != native.Reference {
		set = must.Get(kernel.Named(o.Kernels))(t)
	}
	s := core.NewState(false)
	b := tile.New(s, set, tile.Options{Threads: o.Threads, Alone: true})
	return core.New[*tile.Tensor](s, nets.Float32, b, graph.New(b))
}

// Attention of several agents together gives the same bits as of each agent alone, for all batches and with both
// assemblies, and agrees with plain Go.
func TestTogetherIsAlone(t *testing.T) {
	for name, a := range sharedNeighbours() {
		for _, batch := range []int{17, 130} {
			exact := everything(newSubject(t, native.New(native.Options{DType: nets.Float64}), a, batch, 3))
			single := everything(newSubject(t, native.New(native.Options{Kernels: native.Go}), a, batch, 3))
			var first [][]float64
			for _, family := range families(t) {
				what := fmt.Sprintf("%s, batch %d, %s", name, batch, family)
				together := everything(newSubject(t, native.New(native.Options{Kernels: family}), a, batch, 3))
				one := everything(newSubject(t, newAlone(t, native.Options{Kernels: family}), a, batch, 3))
				for i := range together {
					if !slices.Equal(together[i], one[i]) {
						t.Errorf("%s: result %d of agents together differs from that of each alone", what, i)
					}
					if bound := 2e-5 + 10*apart(single[i], exact[i]); !(apart(together[i], exact[i]) <= bound) {
						t.Errorf("%s: result %d is off by %g, want at most %g", what, i, apart(together[i], exact[i]), bound)
					}
				}
				if family == native.Reference {
					continue
				}
				if first == nil {
					first = together
				}
				for i := range first {
					if !slices.Equal(together[i], first[i]) {
						t.Errorf("%s: result %d differs from that of the other assembly", what, i)
					}
				}
			}
		}
	}
}

// Whole updates give the same bits on one thread and on two, together or alone.
func TestTogetherInUpdates(t *testing.T) {
	best := kernel.Best()
	if best == nil {
		t.Skip("no assembly for this CPU")
	}
	for name, a := range sharedNeighbours() {
		for _, batch := range []int{64, 300} {
			run := func(e nets.Engine) [][]float64 {
				l := newLearner(t, e, a, batch)
				r := l.e.Record("update", l.update)
				for range 3 {
					l.adam.Advance()
					must.Do(t, r.Run())
				}
				var out [][]float64
				for _, x := range l.results {
					out = append(out, values(x))
				}
				return out
			}
			one, two := run(native.New(native.Options{Kernels: best.Name, Threads: 1})), run(native.New(native.Options{Kernels: best.Name, Threads: 2}))
			apart := run(newAlone(t, native.Options{Kernels: best.Name, Threads: 2}))
			for i := range one {
				if !slices.Equal(one[i], two[i]) {
					t.Errorf("%s, batch %d: result %d of two threads differs from one's", name, batch, i)
				}
				if !slices.Equal(one[i], apart[i]) {
					t.Errorf("%s, batch %d: result %d of agents together differs from that of each alone", name, batch, i)
				}
			}
		}
	}
}
