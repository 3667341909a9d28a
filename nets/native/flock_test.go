package native

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// crowds are networks in which agents see nearly the same.
func crowds() map[string]nets.MeanField {
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
	// Some see all, some only a few: those between them go alone.
	some := everyone(false)
	some[4], some[5], some[18] = []int{1, 2}, nil, slices.Clone(some[18][:15])
	in := []nets.Port{{Name: "state", Width: 5}, {Name: "action", Width: 3}}
	field := func(lists [][]int, change func(*nets.MeanField)) nets.MeanField {
		m := nets.MeanField{
			MLP: nets.MLP{Agents: n, In: in, Hidden: []int{7}, Out: 2, Activation: nets.ReLU}, Mix: nets.Attention, Score: nets.Exp, Keys: 6, Neighbours: lists,
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

// eachAlone has no agents go together while f runs.
func eachAlone(f func()) {
	was := fewSame
	fewSame = 1 << 30
	defer func() { fewSame = was }()
	f()
}

// Agents that go over their neighbours together get the bits that each gets alone, whatever the threads and the batch, and all assembly the same; and what they
// get is what plain Go says.
func TestTogetherIsAlone(t *testing.T) {
	for name, a := range crowds() {
		for _, batch := range []int{17, 130} {
			exact := everything(newSubject(t, New(Options{DType: nets.Float64}), a, batch, 3))
			single := everything(newSubject(t, New(Options{Kernels: plain}), a, batch, 3))
			var first [][]float64
			for _, family := range families(t) {
				what := fmt.Sprintf("%s, batch %d, %s", name, batch, family)
				together := everything(newSubject(t, New(Options{Kernels: family}), a, batch, 3))
				var one [][]float64
				eachAlone(func() { one = everything(newSubject(t, New(Options{Kernels: family}), a, batch, 3)) })
				for i := range together {
					if !slices.Equal(together[i], one[i]) {
						t.Errorf("%s: result %d of agents together differs from that of each alone", what, i)
					}
					if bound := 2e-5 + 10*apart(single[i], exact[i]); !(apart(together[i], exact[i]) <= bound) {
						t.Errorf("%s: result %d is off by %g, want at most %g", what, i, apart(together[i], exact[i]), bound)
					}
				}
				if family == goTiles {
					continue
				}
				if first == nil {
					first = together
				}
				for i := range first {
					if !slices.Equal(together[i], first[i]) {
						t.Errorf("%s: result %d differs from that of other assembly", what, i)
					}
				}
			}
		}
	}
}

// Whole updates, too, leave the same bits on any number of threads, together or alone.
func TestTogetherInUpdates(t *testing.T) {
	if kernel.Best() == nil {
		t.Skip("no assembly for this CPU")
	}
	for name, a := range crowds() {
		for _, batch := range []int{64, 300} {
			run := func(threads int) [][]float64 {
				l := newLearner(t, Options{Threads: threads}, a, batch)
				r := l.e.Record("update", l.update)
				for range 3 {
					l.adam.Advance()
					if err := r.Run(); err != nil {
						t.Fatal(err)
					}
				}
				var out [][]float64
				for _, x := range l.results {
					out = append(out, values(x))
				}
				return out
			}
			one, two := run(1), run(2)
			var apart [][]float64
			eachAlone(func() { apart = run(2) })
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

// Which agents go together: those that see the same but for themselves; not where lists differ in length, and not a few.
func TestFlocks(t *testing.T) {
	for name, a := range crowds() {
		if a.Mix == nets.Mean {
			continue
		}
		n := mustNet(t, New(Options{Kernels: goTiles}), a).NewWork(20).(*work[float32])
		f := n.tiles.pass.(*tileField).att.seen
		if f == nil {
			t.Errorf("%s: none go together", name)
			continue
		}
		n3, _ := f.next(2, 5)
		if want := map[bool]int{true: 1, false: 3}[name == "some of them"]; n3 != want {
			t.Errorf("%s: of agents 2 to 4 %d go together, want %d", name, n3, want)
		}
		if k, runs := f.next(6, 12); k != 6 || len(runs) == 0 || runs[0].from != 0 || runs[len(runs)-1].to != len(f.lists[6]) {
			t.Errorf("%s: of agents 6 to 11 %d go together, over %v", name, k, runs)
		}
	}
	ring := make([][]int32, 40)
	for i := range ring {
		for d := range 16 {
			ring[i] = append(ring[i], int32((i+d)%40))
		}
	}
	if f := newFlock(ring); f != nil {
		t.Errorf("agents of a ring go together: %v", f.runs[0])
	}
}
