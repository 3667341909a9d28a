package gorgonia

import (
	"errors"
	"fmt"
	"hash"

	lib "gorgonia.org/gorgonia"
	dense "gorgonia.org/tensor"
)

// softmax is exp(x − t)/Σ exp(x − t) over each row's n numbers, t being the row's largest, which doesn't matter
// to the gradient. Gorgonia's own softmax takes the first number of the whole matrix into every row's largest,
// and overflows where a row's first is the largest by much.
func (b *graph[T]) softmax(x node, n int) node {
	e := b.exp(b.sub(x, b.one(b.largest, x)))
	return b.over(e, b.total(e, n, n))
}

// largest applies [largestOp].
func (b *graph[T]) largest(x node) (node, error) {
	like, err := lib.Exp(x)
	if err != nil {
		return nil, err
	}
	return lib.ApplyOp(largestOp[T]{like.Op()}, x)
}

// largestOp replaces each number by the largest of its row. To differentiation it is a constant. Its type and
// shape are those of another operation of one matrix.
type largestOp[T number] struct{ lib.Op }

// Do implements [lib.Op].
func (largestOp[T]) Do(v ...lib.Value) (lib.Value, error) {
	x, ok := v[0].(*dense.Dense)
	if !ok || x.Dims() != 2 {
		return nil, fmt.Errorf("largest of a %T, want a matrix", v[0])
	}
	rows, cols := x.Shape()[0], x.Shape()[1]
	in := matrix[T](x)
	out := make([]T, len(in))
	for r := range rows {
		row := in[r*cols:][:cols]
		top := row[0]
		for _, v := range row {
			if v > top {
				top = v
			}
		}
		for c := range cols {
			out[r*cols+c] = top
		}
	}
	return dense.New(dense.WithShape(rows, cols), dense.WithBacking(out)), nil
}

// DiffWRT implements [lib.SDOp].
func (largestOp[T]) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

// SymDiff implements [lib.SDOp].
func (largestOp[T]) SymDiff(lib.Nodes, node, node) (lib.Nodes, error) {
	return nil, errors.New("largest has no gradient")
}

// WriteHash implements [lib.Op]: it tells this operation from the one whose type it has.
func (o largestOp[T]) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

func (largestOp[T]) String() string { return "largest" }
