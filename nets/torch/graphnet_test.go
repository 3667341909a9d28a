//go:build libtorch

package torch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
)

// routes runs a test with both implementations of segments: the CPU's loops, and libtorch's operations as on a GPU.
func routes(t *testing.T, f func(t *testing.T)) {
	for _, composed := range []bool{false, true} {
		t.Run(fmt.Sprintf("composed=%v", composed), func(t *testing.T) {
			composedSegments(composed)
			defer composedSegments(false)
			f(t)
		})
	}
}

// The two implementations of segments agree up to rounding.
func TestBothRoutesOfSegmentsAgree(t *testing.T) {
	e := newEngine(t, nets.Float64)
	for name, c := range netstest.Graphs() {
		run := func(composed bool) netstest.GraphResult {
			composedSegments(composed)
			defer composedSegments(false)
			r, err := netstest.RunGraph(e, c, 3)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return r
		}
		values, grads, params := run(true).Apart(run(false))
		if !(values <= 1e-12 && grads <= 1e-12 && params <= 1e-9) {
			t.Errorf("%s: apart by %g, %g, %g", name, values, grads, params)
		}
	}
}

func newGraphSubject(t testing.TB, e nets.Engine, name string, seed uint64) *netstest.GraphSubject {
	t.Helper()
	x := must.Get(netstest.NewGraphSubject(e, netstest.Graphs()[name], seed))(t)
	return x
}

func TestAGraphUpdateLeavesNoTensorBehind(t *testing.T) {
	routes(t, func(t *testing.T) {
		e := newEngine(t, nets.Float32)
		c := netstest.Graphs()["kinds, all on"]
		x := newGraphSubject(t, e, "kinds, all on", 1)
		adam := must.Get(e.NewAdam(x.Net, nets.Adam{Rate: 1e-3, Clip: 1}))(t)
		count := func(seed uint64) int64 { // batches of different sizes
			x.Batch.Reset()
			must.Do(t, c.Fill(x.Batch, seed))
			x.Batch.Seal()
			x.In = c.Inputs(x.Batch, seed)
			adam.Advance()
			x.Forward()
			x.Backward()
			adam.Step()
			ok(t, e)
			return Live()
		}
		count(1)
		baseline := count(2)
		for seed := range uint64(10) {
			if n := count(seed); n != baseline {
				t.Fatalf("%d tensors after an update, %d before", n, baseline)
			}
		}
		x.Net.Head(x.Work, 0, [][]int32{{0}}, nil)
		if e.Err() == nil {
			t.Fatal("no error")
		}
		if n := count(3); n != baseline {
			t.Errorf("%d tensors after a failed update, %d before", n, baseline)
		}
		w := e.back.works[0].(*graphWork)
		if w.forget(); len(w.s.held) != 0 {
			t.Errorf("%d tensors of a pass are left", len(w.s.held))
		}
	})
}

// Backward uses a head's last run, and earlier results are valid until the next Forward.
func TestHeadsRunAgain(t *testing.T) {
	e := newEngine(t, nets.Float64)
	x := newGraphSubject(t, e, "kinds", 1)
	x.Forward()
	once := x.Backward()
	for range 2 { // without a graph, then with one
		x.Net.Forward(x.Work, x.Batch, nil)
		var firsts []nets.Tensor
		var were [][]float64
		for h, in := range x.In {
			given := [][]int32{slices.Repeat([]int32{-1}, 3)}
			first := x.Net.Head(x.Work, h, given[:len(in.Given)], make([]float32, len(in.Extra)))
			x.Work.GradOut(h).Set64(slices.Repeat([]float64{7}, nets.Size(first)))
			firsts, were = append(firsts, first), append(were, values(first))
			x.Net.Head(x.Work, h, in.Given, in.Extra)
			near(t, "a new run's gradient", values(x.Work.GradOut(h)), make([]float64, nets.Size(first)), 0)
		}
		near(t, "gradients", x.Backward(), once, 1e-14)
		for h, first := range firsts {
			near(t, "an earlier result", values(first), were[h], 0)
		}
		ok(t, e)
		x.Net.Forward(x.Work, x.Batch, nil)
		firsts[0].Get64(make([]float64, nets.Size(firsts[0])))
		ok(t, e)
		if g := x.Work.GradOut(0); g != nil {
			t.Errorf("a head that has not run has a gradient of %v", g.Shape())
		}
	}
}

func TestGraphGradientsAddUpAndForwardsRepeat(t *testing.T) {
	e := newEngine(t, nets.Float64)
	x := newGraphSubject(t, e, "dropout", 1)
	first := x.Forward()
	once := x.Backward()
	for h, again := range x.Forward() { // with a graph now
		near(t, "the same to the bit", again, first[h], 0)
	}
	near(t, "gradients", x.Backward(), once, 0)
	x.Net.Backward(x.Work)
	for i := range once {
		once[i] *= 2
	}
	near(t, "added", values(x.Net.Grads()), once, 1e-15)
	x.Drop = nil
	if slices.Equal(x.Forward()[0], first[0]) {
		t.Error("dropout drops nothing")
	}
	ok(t, e)
}

func TestGraphsRunOnSeveralGoroutines(t *testing.T) {
	e := newEngine(t, nets.Float32)
	x := newGraphSubject(t, e, "kinds", 1)
	want := x.Forward()
	var all sync.WaitGroup
	got := make([][]float64, 4)
	for i := range got {
		w := x.Net.NewWork()
		all.Go(func() {
			for range 20 {
				x.Net.Forward(w, x.Batch, nil)
				got[i] = values(x.Net.Head(w, 1, x.In[1].Given, x.In[1].Extra))
			}
		})
	}
	all.Wait()
	ok(t, e)
	for _, out := range got {
		near(t, "on a goroutine", out, want[1], 0)
	}
}

func TestMisuseOfAGraphNetIsAnErrorOfTheEngine(t *testing.T) {
	e := newEngine(t, nets.Float32)
	x := newGraphSubject(t, e, "kinds", 1)
	forward := func() { x.Net.Forward(x.Work, x.Batch, nil) }
	for says, f := range netstest.GraphMisuses(x, newGraphSubject(t, e, "one kind", 1)) {
		f()
		e.Add(x.Net.Params(), 1, x.Net.Params()) // does nothing: Err returns the first failure
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), "nets/torch: ") {
			t.Errorf("error %v, want one that says %q", err, says)
		}
	}
	if _, err := e.NewGraphNet(nets.Graph{}); err == nil {
		t.Error("a network without nodes was built")
	}
	wants(t, e.Record("graphs", forward).Run(), `"graphs"`, "within a recorded update")
	none := x.Net.NewWork()
	if a, b := none.Embedding(2).Shape(), none.Pooled().Shape(); !slices.Equal(a, []int{1, 0, 4}) ||
		!slices.Equal(b, []int{1, 0, 12}) {
		t.Errorf("before a Forward there are %v and %v", a, b)
	}
	forward()
	ok(t, e) // the engine works again
}

// A batch without graphs, and kinds without nodes, give results without rows.
func TestEmptyBatches(t *testing.T) {
	routes(t, func(t *testing.T) {
		if err := netstest.EmptyGraphs(newEngine(t, nets.Float32)); err != nil {
			t.Error(err)
		}
	})
}
