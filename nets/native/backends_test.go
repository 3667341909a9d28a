package native_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/nets/native/kernel"
	"github.com/stoker-rl/stoker/rng"
)

// families are the kernels that this machine can run, the Go reference included.
func families(t testing.TB) []string {
	names := []string{native.Reference}
	for _, name := range []string{"avx2", "avx512"} {
		if _, err := kernel.Named(name); err != nil {
			t.Logf("%s is not tried: %v", name, err)
			continue
		}
		names = append(names, name)
	}
	return names
}

// Batches: one sample, a tile, tiles with padding, several shards.
var batches = []int{1, 2, 16, 17, 33, 64, 100, 130, 300}

// Tiles agree with plain Go: outputs and gradients w.r.t. parameters and inputs, for every architecture and odd
// batches. Both are compared with plain Go in float64, because some of these numbers are ill-conditioned: there float32 in plain
// Go has errors of the same size.
func TestTilesArePlain(t *testing.T) {
	families := families(t)
	for name, a := range archs() {
		for _, batch := range batches {
			what := fmt.Sprintf("%s, batch %d", name, batch)
			exact := everything(newSubject(t, native.New(native.Options{DType: nets.Float64}), a, batch, 3))
			single := everything(newSubject(t, native.New(native.Options{Kernels: native.Go}), a, batch, 3))
			for _, family := range families {
				for i, got := range everything(newSubject(t, native.New(native.Options{Kernels: family}), a, batch, 3)) {
					bound := 2e-5 + 10*apart(single[i], exact[i])
					if d := apart(got, exact[i]); !(d <= bound) {
						t.Errorf("%s, %s: result %d is off by %g of its largest number, want at most %g", family, what, i, d, bound)
					}
				}
			}
		}
	}
}

// everything is the output, the gradient w.r.t. the parameters after two backward passes, and the gradients w.r.t. the
// inputs.
func everything(x subject) [][]float64 {
	all := [][]float64{x.forward()}
	x.net.Backward(x.work, x.g, nets.Both)
	x.net.Backward(x.work, x.g, nets.Both)
	all = append(all, values(x.net.Grads()))
	for i := range x.in {
		all = append(all, values(x.work.GradIn(i)))
	}
	return all
}

// apart is the largest difference relative to the largest number.
func apart(got, want []float64) float64 {
	d, scale := 0.0, 1e-3
	for i, v := range want {
		d, scale = max(d, math.Abs(got[i]-v)), max(scale, math.Abs(v))
	}
	return d / scale
}

// learner is one update that uses every kind of operation, alternating between two batches.
type learner struct {
	e       nets.Engine
	x       subject
	adam    nets.Optimizer
	target  nets.Tensor
	y, dq   nets.Tensor
	value   nets.Tensor
	copied  nets.Tensor
	half    nets.Work
	update  func()
	results []nets.Tensor
}

func newLearner(t testing.TB, e nets.Engine, a nets.Arch, batch int) *learner {
	t.Helper()
	l := &learner{e: e, x: newSubject(t, e, a, batch, 5)}
	var err error
	if l.adam, err = e.NewAdam(l.x.net, nets.Adam{Rate: 1e-2, Clip: 0.5}); err != nil {
		t.Fatal(err)
	}
	s, out, agents := rng.NewStream(9, "learner"), a.Output().Width, a.AgentCount()
	l.target = e.NewTensor(l.x.net.Params().Shape()...)
	l.y, l.dq, l.value = newNormal(e, s, agents, batch, out), e.NewTensor(agents, batch, out), e.NewTensor(agents)
	l.copied = newNormal(e, s, agents, batch, out)
	l.half = l.x.net.NewWork(max(1, batch/2))
	var small []nets.Tensor
	for _, p := range a.Inputs() {
		small = append(small, newNormal(e, s, agents, l.half.Batch(), p.Width))
	}
	back := newNormal(e, s, agents, l.half.Batch(), out)
	l.x.work.GradIn(0)
	in := l.x.in
	l.update = func() {
		q := l.x.net.Forward(l.x.work, in...)
		e.TDTarget(l.copied, l.y, l.copied, q)
		e.Loss(nets.SquaredError{}, l.value, l.dq, q, l.copied)
		l.x.net.ZeroGrads()
		l.x.net.Backward(l.x.work, l.dq, nets.Both)
		l.x.net.Forward(l.half, small...)
		l.x.net.Backward(l.half, back, nets.Params)
		e.Add(l.dq, 0.5, l.y)
		l.adam.Step()
		e.Loss(nets.Custom{Name: "mean", Func: meanLoss}, l.value, l.dq, q, l.y)
		l.x.net.Backward(l.x.work, l.dq, nets.Inputs) // from the update's first forward pass
		e.Lerp(l.target, l.x.net.Params(), 0.1)
		e.Copy(l.y, l.dq)
	}
	l.results = []nets.Tensor{l.x.net.Params(), l.x.net.Grads(), l.target, l.value, l.y, l.x.work.GradIn(0),
		l.adam.Norms()}
	noError(t, e)
	return l
}

func meanLoss(value, grad []float64, args [][]float64, _ [][]int) {
	for i, x := range args[0] {
		value[0] += x
		grad[i] = 0.01 * args[1][i]
	}
}

// run does the update a few times and returns all results.
func (l *learner) run(t testing.TB, record bool) (all []float64) {
	t.Helper()
	do := func() error { l.update(); return l.e.Err() }
	if record {
		do = l.e.Record("learner", l.update).Run
	}
	for range 3 {
		l.adam.Advance()
		must.Do(t, do())
	}
	return l.all()
}

func (l *learner) all() (all []float64) {
	for _, r := range l.results {
		all = append(all, values(r)...)
	}
	return all
}

// threadsFor is the numbers of threads to try; only one for the slow reference.
func threadsFor(family string) []int {
	if family == native.Reference {
		return []int{2}
	}
	return []int{1, 5}
}

// Independent updates recorded together give the bits of each alone, on any number of threads.
func TestIndependentUpdates(t *testing.T) {
	value := nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 5}}, Hidden: []int{33, 20}, Out: 1, Activation: nets.Tanh}
	best := []string{native.Reference} // what runs beside what is the same with every assembly
	if k := kernel.Best(); k != nil {
		best = append(best, k.Name)
	}
	for _, batch := range []int{3, 70, 300} {
		for _, family := range best {
			alone := func(a nets.Arch) []float64 {
				return newLearner(t, native.New(native.Options{Kernels: family, Threads: 1}), a, batch).run(t, true)
			}
			ofValue := alone(value)
			for name, a := range archs() {
				if a.Kind() == "gumbel-softmax" {
					continue // has no parameters
				}
				want := [][]float64{alone(a), ofValue}
				for _, threads := range threadsFor(family) {
					e := native.New(native.Options{Kernels: family, Threads: threads})
					both := []*learner{newLearner(t, e, a, batch), newLearner(t, e, value, batch)}
					r := e.Record("both", both[0].update, both[1].update)
					for range 3 {
						both[0].adam.Advance()
						both[1].adam.Advance()
						must.Do(t, r.Run())
					}
					for i, l := range both {
						if !slices.Equal(l.all(), want[i]) {
							t.Errorf("%s, batch %d, %s: update %d of two side by side on %d threads differs from itself alone",
								name, batch, family, i, threads)
						}
					}
				}
			}
		}
	}
}

// An update gives the same bits whether it is recorded or not, on any number of threads, with either assembly.
func TestUpdateBits(t *testing.T) {
	for name, a := range archs() {
		if a.Kind() == "gumbel-softmax" {
			continue // has no parameters
		}
		for _, batch := range []int{3, 70, 300} {
			var assembly, reference []float64
			for _, family := range families(t) {
				want := newLearner(t, native.New(native.Options{Kernels: family, Threads: 1}), a, batch).run(t, false)
				for _, threads := range threadsFor(family) {
					if got := newLearner(t, native.New(native.Options{Kernels: family, Threads: threads}), a, batch).run(t,
						true); !slices.Equal(got, want) {
						t.Errorf("%s, batch %d, %s: recorded on %d threads, the results differ from those of single operations",
							name, batch, family, threads)
					}
				}
				if family == native.Reference {
					reference = want
					continue
				}
				if assembly != nil && !slices.Equal(assembly, want) {
					t.Errorf("%s, batch %d: %s differs from the other assembly", name, batch, family)
				}
				assembly = want
			}
			near(t, name, reference, newLearner(t, native.New(native.Options{Kernels: native.Go}), a, batch).run(t, true), 1e-3)
		}
	}
}

// A recorded update allocates nothing after its first run.
func TestUpdateAllocations(t *testing.T) {
	for name, a := range archs() {
		if a.Kind() == "gumbel-softmax" {
			continue
		}
		l := newLearner(t, native.New(native.Options{Kernels: native.Reference}), a, 70)
		r := l.e.Record("learner", l.update)
		noAllocs(t, name, func() {
			l.adam.Advance()
			must.Do(t, r.Run())
		})
	}
}

// A backward pass within a recorded update needs its forward pass within it too, and one outside needs it outside.
// Otherwise it is an error, with all kernels that record.
func TestBackwardAcrossRecording(t *testing.T) {
	for name, a := range archs() {
		e := native.New(native.Options{Kernels: native.Reference})
		x := newSubject(t, e, a, 20, 1)
		inside := e.Record("back", func() { x.net.Backward(x.work, x.g, nets.Inputs) })
		x.forward()
		wantError(t, inside.Run(), "Backward", "without a Forward")
		forward := e.Record("forward", func() { x.net.Forward(x.work, x.in...) })
		if err := forward.Run(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x.net.Backward(x.work, x.g, nets.Inputs)
		wantError(t, e.Err(), "Backward", "without a Forward")
		x.forward()
		x.net.Backward(x.work, x.g, nets.Inputs)
		noError(t, e)
	}
}

// If the source of a soft target is a net's gradients, Lerp runs after that net's backward pass.
func TestLerpOfGradients(t *testing.T) {
	a := nets.MLP{Agents: 5, In: []nets.Port{{Name: "x", Width: 3}}, Hidden: []int{4}, Out: 2, Activation: nets.Tanh}
	results := map[string][]float64{}
	for _, family := range []string{native.Reference, native.Go} {
		e := native.New(native.Options{Kernels: family})
		x, y := newSubject(t, e, a, 20, 1), newSubject(t, e, a, 20, 2)
		o := must.Get(e.NewAdam(x.net, nets.Adam{Rate: 1e-2}))(t)
		r := e.Record("lerp", func() {
			x.net.Forward(x.work, x.in...)
			x.net.ZeroGrads()
			x.net.Backward(x.work, x.g, nets.Params)
			o.Step()
			y.net.Forward(y.work, y.in...)
			y.net.Backward(y.work, y.g, nets.Params)
			e.Lerp(y.net.Grads(), x.net.Params(), 0.5)
		})
		for range 2 {
			o.Advance()
			must.Do(t, r.Run())
		}
		results[family] = values(y.net.Grads())
	}
	near(t, "gradients moved", results[native.Reference], results[native.Go], 1e-4)
}

// Several passes backward from one forward pass in a recorded update give what they give outside of one.
func TestBackwardTwiceInAnUpdate(t *testing.T) {
	all := archs()
	for name, a := range sharedNeighbours() {
		all["together, "+name] = a
	}
	for name, a := range all {
		run := func(record bool) (out [][]float64) {
			e := native.New(native.Options{Kernels: native.Reference, Threads: 2})
			x := newSubject(t, e, a, 70, 1)
			other, results := newNormal(e, rng.NewStream(2, "other"), x.g.Shape()...), []nets.Tensor{x.net.Grads()}
			for i := range x.in {
				results = append(results, x.work.GradIn(i))
			}
			update := func() {
				x.net.Forward(x.work, x.in...)
				x.net.Backward(x.work, x.g, nets.Both)
				x.net.Backward(x.work, other, nets.Both)
			}
			if record {
				must.Do(t, e.Record("twice", update).Run())
			} else {
				update()
			}
			for _, r := range results {
				out = append(out, values(r))
			}
			return out
		}
		want, got := run(false), run(true)
		for i := range want {
			near(t, fmt.Sprintf("%s, result %d", name, i), got[i], want[i], 1e-5)
		}
	}
}

// The last tile's padding has no part in gradients, however the gradient w.r.t. the output was made.
func TestGradientsByOperations(t *testing.T) {
	for name, a := range archs() {
		for _, batch := range []int{2, 17, 70} {
			results := map[string][][]float64{}
			for _, family := range []string{native.Reference, native.Go} {
				e := native.New(native.Options{Kernels: family})
				x := newSubject(t, e, a, batch, 1)
				out := x.net.Forward(x.work, x.in...)
				x.net.Backward(x.work, out, nets.Params)
				e.Add(x.g, 0.5, out)
				x.net.Backward(x.work, x.g, nets.Both)
				results[family] = [][]float64{values(x.net.Grads()), values(x.work.GradIn(0))}
			}
			for i, want := range results[native.Go] {
				near(t, fmt.Sprintf("%s, batch %d, result %d", name, batch, i), results[native.Reference][i], want, 1e-3)
			}
		}
	}
}

// What an update that failed has computed of another one's gradients is not in the next run's.
func TestGradientsAfterAFailure(t *testing.T) {
	const batch = 70
	e := native.New(native.Options{Kernels: native.Reference, Threads: 1})
	x := newSubject(t, e, archs()["mlp one agent"], batch, 1)
	logits, grad, mask := e.NewTensor(1, batch, 2), e.NewTensor(1, batch, 2), e.NewTensor(1, batch, 2)
	choice, advantage, value := e.NewTensor(1, batch, 1), e.NewTensor(1, batch, 1), e.NewTensor(1)
	mask.Set64(slices.Repeat([]float64{1}, 2*batch))
	r := e.Record("both", func() {
		e.Loss(nets.PolicyGradient{}, value, grad, logits, choice, advantage, mask)
	}, func() {
		x.net.Forward(x.work, x.in...)
		x.net.ZeroGrads()
		x.net.Backward(x.work, x.g, nets.Params)
	})
	must.Do(t, r.Run())
	want := values(x.net.Grads())
	choice.Set64(slices.Repeat([]float64{5}, batch))
	wantError(t, r.Run(), "policy gradient", "the choice of agent 0 in sample 0 is 5")
	choice.Set64(make([]float64, batch))
	must.Do(t, r.Run())
	near(t, "gradients after a run that failed", values(x.net.Grads()), want, 0)
}

// A pass backward by parameters alone does not bring back the inputs' gradients that a recorded update has left out.
func TestGradientLeftOut(t *testing.T) {
	e := native.New(native.Options{Kernels: native.Reference})
	x := newSubject(t, e, archs()["mlp tanh"], 20, 1)
	must.Do(t, e.Record("both", func() {
		x.net.Forward(x.work, x.in...)
		x.net.Backward(x.work, x.g, nets.Both)
	}).Run())
	x.forward()
	x.net.Backward(x.work, x.g, nets.Params)
	noError(t, e)
	x.work.GradIn(0)
	wantError(t, e.Err(), "GradIn", "left out")
}
