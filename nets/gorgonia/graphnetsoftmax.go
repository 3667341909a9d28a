package gorgonia

import (
	"errors"
	"fmt"
	"hash"
	"math"

	lib "gorgonia.org/gorgonia"
	dense "gorgonia.org/tensor"
)

// largestInto applies [largestIntoOp].
func (b *graph[T]) largestInto(x node, to []int32, name string) (node, error) {
	like, err := lib.Exp(x)
	if err != nil {
		return nil, err
	}
	return lib.ApplyOp(largestIntoOp[T]{like.Op(), to, name}, x)
}

// largestIntoOp replaces each edge's number by the largest number of the edges into the same node. Differentiation
// treats it as a constant, because the softmax does not depend on it.
type largestIntoOp[T number] struct {
	lib.Op
	to   []int32
	name string
}

// Do implements [lib.Op].
func (o largestIntoOp[T]) Do(v ...lib.Value) (lib.Value, error) {
	x, ok := v[0].(*dense.Dense)
	if !ok || x.Size() != len(o.to) {
		return nil, fmt.Errorf("largest per node of a %T, want a number for each of %d edges", v[0], len(o.to))
	}
	in, top := matrix[T](x), map[int32]T{}
	for i, v := range o.to {
		if t, ok := top[v]; !ok || in[i] > t || math.IsNaN(float64(t)) {
			top[v] = in[i]
		}
	}
	out := make([]T, len(in))
	for i, v := range o.to {
		out[i] = top[v]
	}
	return dense.New(dense.WithShape(len(in), 1), dense.WithBacking(out)), nil
}

// DiffWRT implements [lib.SDOp].
func (largestIntoOp[T]) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

// SymDiff implements [lib.SDOp].
func (largestIntoOp[T]) SymDiff(lib.Nodes, node, node) (lib.Nodes, error) {
	return nil, errors.New("largest has no gradient")
}

// WriteHash implements [lib.Op].
func (o largestIntoOp[T]) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

func (o largestIntoOp[T]) String() string { return "largest into nodes, " + o.name }
