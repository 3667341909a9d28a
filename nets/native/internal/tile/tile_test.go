package tile

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// newEngine returns an engine, and its backend, with the fastest kernels that there are.
func newEngine() (nets.Engine, *Backend) {
	set := kernel.Best()
	if set == nil {
		set = kernel.Reference()
	}
	s := core.NewState(false)
	b := New(s, set, Options{Threads: 1})
	return core.New[*Tensor](s, nets.Float32, b, nil), b
}

// Setting a tensor is bit for bit what the plain loop does, whatever is left of the last tile, on memory that
// held other numbers.
func TestSetTransposes(t *testing.T) {
	for _, shape := range [][3]int{{1, 2, 1}, {1, 17, 3}, {2, 64, 91}, {3, 130, 20}, {1, 256, 224}} {
		e, _ := newEngine()
		x := e.NewTensor(shape[0], shape[1], shape[2]).(*Tensor)
		src := make([]float32, x.Len())
		for round := range 2 {
			for i := range src {
				src[i] = float32(i*7+round) - 0.5
			}
			x.Set(src)
			want := make([]float32, len(x.data))
			spread(x.tiling, want, src)
			if !slices.Equal(x.data, want) {
				t.Errorf("%v, round %d: the tensor differs from the plain loop's", shape, round)
			}
		}
		must.Do(t, e.Err())
	}
}

// everyone is lists of n agents that see all others, and themselves where self is set.
func everyone(n int, self bool) [][]int32 {
	lists := make([][]int32, n)
	for i := range lists {
		for j := range n {
			if j != i || self {
				lists[i] = append(lists[i], int32(j))
			}
		}
	}
	return lists
}

// Which agents attend together: those that see the same but for themselves; not where lists differ in length,
// and not with few neighbours.
func TestSharedNeighbours(t *testing.T) {
	some := everyone(19, false)
	some[4], some[5], some[18] = []int32{1, 2}, nil, some[18][:15]
	for name, c := range map[string]struct {
		lists [][]int32
		third int // of agents 2 to 4, how many attend together
	}{
		"all others":   {everyone(19, false), 3},
		"all":          {everyone(19, true), 3},
		"some of them": {some, 1},
	} {
		f := newSharedNeighbours(c.lists)
		if f == nil {
			t.Errorf("%s: none attend together", name)
			continue
		}
		if n, _ := f.next(2, 5); n != c.third {
			t.Errorf("%s: of agents 2 to 4 %d attend together, want %d", name, n, c.third)
		}
		n, runs := f.next(6, 12)
		if n != 6 || len(runs) == 0 || runs[0].from != 0 || runs[len(runs)-1].to != len(c.lists[6]) {
			t.Errorf("%s: of agents 6 to 11 %d attend together, over %v", name, n, runs)
		}
	}
	ring := make([][]int32, 40)
	for i := range ring {
		for d := range 16 {
			ring[i] = append(ring[i], int32((i+d)%40))
		}
	}
	if f := newSharedNeighbours(ring); f != nil {
		t.Errorf("agents of a ring attend together: %v", f.runs[0])
	}
	if f := newSharedNeighbours(everyone(9, false)); f != nil {
		t.Errorf("agents with eight neighbours attend together: %v", f.runs[0])
	}
}

// A step of Adam goes agent by agent within its segment where the batch is one tile and each agent has
// parameters of its own.
func TestAdamWithinASegment(t *testing.T) {
	for _, c := range []struct {
		agents, batch int
		shared        bool
		want          int
	}{{6, 40, false, 1}, {6, 40, true, 0}, {6, 300, false, 0}, {2, 16, false, 0}} {
		e, b := newEngine()
		n := must.Get(e.NewNet(nets.MLP{
			Agents: c.agents, Shared: c.shared, In: []nets.Port{{Name: "x", Width: 3}}, Hidden: []int{5}, Out: 1,
			Activation: nets.ReLU,
		}))(t)
		adam := must.Get(e.NewAdam(n, nets.Adam{Rate: 1}))(t)
		adam.Advance()
		w, x, g := n.NewWork(c.batch), e.NewTensor(c.agents, c.batch, 3), e.NewTensor(c.agents, c.batch, 1)
		p := b.capture(func() {
			n.Forward(w, x)
			n.ZeroGrads()
			n.Backward(w, g, nets.Params)
			adam.Step()
		})
		within := 0
		for _, s := range p.segments {
			for _, st := range s.steps {
				if _, ok := st.(*adamStep); ok {
					within++
				}
			}
		}
		if within != c.want {
			t.Errorf("%d agents, batch %d, shared %v: %d steps of Adam are within a segment, want %d", c.agents,
				c.batch, c.shared, within, c.want)
		}
		must.Do(t, e.Err())
	}
}
