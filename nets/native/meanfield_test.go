package native_test

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// With zero queries all neighbours have the same weight, so attention is the mean field.
func TestUniformAttentionIsMean(t *testing.T) { onBackends(t, checkUniformAttentionIsMean) }

func checkUniformAttentionIsMean(t *testing.T, o native.Options, tol float64) {
	e := native.New(o)
	att := archs()["attention self exp"].(nets.MeanField)
	mean := att
	mean.Mix, mean.Score, mean.Keys = nets.Mean, "", 0

	x := newSubject(t, e, att, 5, 1)
	slots, size := nets.Layout(att)
	p := values(x.net.Params())
	for g := range att.Groups() {
		for _, s := range slots {
			if s.Name == "query.weight" {
				clear(p[g*size+s.Offset:][:s.Size()])
			}
		}
	}
	x.net.Params().Set64(p)

	y := newSubject(t, e, mean, 5, 1)
	_, meanSize := nets.Layout(mean)
	q := values(y.net.Params())
	for g := range att.Groups() {
		copy(q[g*meanSize:][:meanSize], p[g*size:]) // the layers come first in both
	}
	y.net.Params().Set64(q)
	y.in = x.in
	near(t, "uniform attention", x.forward(), y.forward(), tol)
}

// If agents with shared weights and symmetric neighbourhoods are permuted, their outputs are permuted.
func TestPermutationEquivariance(t *testing.T) { onBackends(t, checkPermutationEquivariance) }

func checkPermutationEquivariance(t *testing.T, o native.Options, tol float64) {
	perm := []int{2, 0, 1} // agent i becomes agent perm[i]
	for name, a := range archs() {
		f, ok := a.(nets.MeanField)
		if !ok || f.Mix == nets.Joint {
			continue
		}
		f.Shared = true
		moved := f
		moved.Neighbours = make([][]int, len(f.Neighbours))
		for i, list := range f.Neighbours {
			for _, j := range list {
				moved.Neighbours[perm[i]] = append(moved.Neighbours[perm[i]], perm[j])
			}
		}
		e := native.New(o)
		x, y := newSubject(t, e, f, 4, 5), newSubject(t, e, moved, 4, 5)
		for p, in := range x.in {
			y.in[p].Set64(permuted(values(in), perm))
		}
		near(t, name, y.forward(), permuted(x.forward(), perm), tol)
	}
}

// permuted moves agent i's part of x to agent perm[i].
func permuted(x []float64, perm []int) []float64 {
	out := make([]float64, len(x))
	n := len(x) / len(perm)
	for i, to := range perm {
		copy(out[to*n:][:n], x[i*n:])
	}
	return out
}

// An agent's features affect exactly the agents that list it as a neighbour, and itself.
func TestNeighbourhood(t *testing.T) { onBackends(t, checkNeighbourhood) }

func checkNeighbourhood(t *testing.T, o native.Options, _ float64) {
	for name, a := range archs() {
		f, ok := a.(nets.MeanField)
		if !ok || f.Mix == nets.Joint || strings.Contains(name, "others") {
			continue
		}
		e := native.New(o)
		x := newSubject(t, e, f, 2, 6)
		before := x.forward()
		for j := range f.Agents {
			in := values(x.in[0])
			changed := append([]float64(nil), in...)
			changed[j*len(in)/f.Agents] += 0.5
			x.in[0].Set64(changed)
			after := x.forward()
			x.in[0].Set64(in)
			n := len(before) / f.Agents
			for i, list := range f.Neighbours {
				sees := i == j
				for _, k := range list {
					sees = sees || k == j
				}
				differs := false
				for l := range n {
					differs = differs || before[i*n+l] != after[i*n+l]
				}
				// In float32 the effect of a small weight may be lost by rounding.
				if differs && !sees || sees && !differs && o.DType == nets.Float64 {
					t.Errorf("%s: agent %d changed with agent %d: %v, want %v", name, i, j, differs, sees)
				}
			}
		}
	}
}
