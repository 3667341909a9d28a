package gorgonia

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
)

// Gradients are compared with finite differences, and whole updates with other engines, in nets/engines.

func newGraphSubject(t testing.TB, e nets.Engine, name string) *netstest.GraphSubject {
	t.Helper()
	x := must.Get(netstest.NewGraphSubject(e, netstest.Graphs()[name], 1))(t)
	return x
}

// Backward uses a head's last run, and gradients accumulate.
func TestHeadsRunAgain(t *testing.T) {
	e := newTest(t, nets.Float64)
	x := newGraphSubject(t, e, "kinds, all on")
	want := x.Forward()
	once := x.Backward()
	x.Net.Forward(x.Work, x.Batch, x.Drop)
	for h, in := range x.In {
		given := [][]int32{slices.Repeat([]int32{-1}, 3)}
		first := x.Net.Head(x.Work, h, given[:len(in.Given)], make([]float32, len(in.Extra)))
		x.Work.GradOut(h).Set64(slices.Repeat([]float64{7}, nets.Size(first)))
		near(t, "again", values(x.Net.Head(x.Work, h, in.Given, in.Extra)), want[h], 0)
		near(t, "a new run's gradient", values(x.Work.GradOut(h)), make([]float64, nets.Size(first)), 0)
	}
	near(t, "gradient", x.Backward(), once, 0)
	x.Net.Backward(x.Work)
	for i := range once {
		once[i] *= 2
	}
	near(t, "added", values(x.Net.Grads()), once, 1e-12)
	noError(t, e)
	x.Net.Forward(x.Work, x.Batch, nil)
	if g := x.Work.GradOut(0); g != nil {
		t.Errorf("a head that has not run has a gradient of %v", g.Shape())
	}
}

func TestGraphMisuse(t *testing.T) {
	e := newTest(t, nets.Float32)
	x := newGraphSubject(t, e, "kinds")
	for says, f := range netstest.GraphMisuses(x, newGraphSubject(t, e, "one kind")) {
		f()
		e.Add(x.Net.Params(), 1, x.Net.Params()) // does nothing: the first failure stays
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(),
			"nets/gorgonia: ") {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	if _, err := e.NewGraphNet(nets.Graph{}); err == nil {
		t.Error("a network without nodes was built")
	}
	empty := reflect.Zero(reflect.TypeOf(x.Net)).Interface().(nets.Weights) // a typed nil
	for _, n := range []nets.Weights{nil, empty} {
		if _, err := e.NewAdam(n, nets.Adam{}); err == nil {
			t.Errorf("an optimiser of no net, a %T", n)
		}
	}
	none := x.Net.NewWork()
	if a, b := none.Embedding(2).Shape(), none.Pooled().Shape(); !slices.Equal(a, []int{1, 0, 4}) || !slices.Equal(b,
		[]int{1, 0, 12}) {
		t.Errorf("before a Forward there are %v and %v", a, b)
	}
	x.Net.Forward(x.Work, x.Batch, nil)
	noError(t, e) // the engine works again
}

// A batch without graphs, and kinds without nodes, give results without rows.
func TestEmptyBatches(t *testing.T) {
	if err := netstest.EmptyGraphs(newTest(t, nets.Float32)); err != nil {
		t.Error(err)
	}
}
