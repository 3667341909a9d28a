package native_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// Hard outputs are one-hot at the first largest y, with the gradient of the relaxed y.
func TestGumbelHard(t *testing.T) { onBackends(t, checkGumbelHard) }

func checkGumbelHard(t *testing.T, o native.Options, _ float64) {
	e := native.New(o)
	soft := nets.GumbelSoftmax{Agents: 2, Segments: []int{3, 2}, Temperature: 0.5}
	hard := soft
	hard.Hard = true
	x, y := newSubject(t, e, soft, 4, 1), newSubject(t, e, hard, 4, 1)
	relaxed, choice := x.forward(), y.forward()
	for at := 0; at < len(choice); at += 5 {
		for _, seg := range [][2]int{{0, 3}, {3, 5}} {
			best := seg[0]
			for j := seg[0]; j < seg[1]; j++ {
				if relaxed[at+j] > relaxed[at+best] {
					best = j
				}
			}
			for j := seg[0]; j < seg[1]; j++ {
				want := 0.0
				if j == best {
					want = 1
				}
				if choice[at+j] != want {
					t.Fatalf("output %d is %g, want %g: relaxed %v", at+j, choice[at+j], want, relaxed[at:at+5])
				}
			}
		}
	}
	x.net.Backward(x.work, x.g, nets.Inputs)
	y.net.Backward(y.work, y.g, nets.Inputs)
	for i := range 2 {
		near(t, "straight-through gradient", values(y.work.GradIn(i)), values(x.work.GradIn(i)), 0)
	}
	noError(t, e)
}

// Of equal values the first is chosen. Noise of −Inf or −1e9 excludes a choice, and its gradient is 0.
func TestGumbelNoise(t *testing.T) { onBackends(t, checkGumbelNoise) }

func checkGumbelNoise(t *testing.T, o native.Options, tol float64) {
	e := native.New(o)
	n := mustNet(t, e, nets.GumbelSoftmax{Agents: 1, Segments: []int{3}, Temperature: 1, Hard: true})
	w := n.NewWork(3)
	logits := of(e, []float64{1, 1, 1, 9, 1, 1, 9, 1, 2}, 1, 3, 3)
	noise := of(e, []float64{0, 0, 0, math.Inf(-1), 0, 0, -1e9, 0, 0}, 1, 3, 3)
	near(t, "choices", values(n.Forward(w, logits, noise)), []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, 0)
	n.Backward(w, of(e, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 3, 3), nets.Inputs)
	g := values(w.GradIn(0))
	if g[3] != 0 || g[6] != 0 {
		t.Errorf("gradients of excluded logits are %g and %g, want 0", g[3], g[6])
	}
	near(t, "gradient among the rest", g[4:6], []float64{-0.25, 0.25}, tol)
	noError(t, e)
}

// All kernels compute the noise by the same equation.
func TestGumbelOfWords(t *testing.T) {
	words := make([]uint32, 1001)
	s := rng.NewStream(2, "words")
	for i := range words {
		words[i] = uint32(s.Uint64())
	}
	want, got := make([]float32, len(words)), make([]float32, len(words))
	native.New(native.Options{DType: nets.Float64}).(interface {
		Gumbel(dst []float32, words []uint32)
	}).Gumbel(want, words)
	for _, family := range append(families(t), native.Go) {
		native.New(native.Options{Kernels: family}).(interface {
			Gumbel(dst []float32, words []uint32)
		}).Gumbel(got, words)
		for i, w := range want {
			if d := math.Abs(float64(got[i] - w)); d > 1e-6*max(1, math.Abs(float64(w))) {
				t.Errorf("%s: noise of word %#x is %g, want %g", family, words[i], got[i], w)
			}
		}
	}
}
