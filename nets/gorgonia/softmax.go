package gorgonia

import (
	"errors"
	"fmt"
	"hash"

	lib "gorgonia.org/gorgonia"
	dense "gorgonia.org/tensor"
)

// softmax is exp(x − t)/Σ exp(x − t) over each row's n numbers, with t the row's largest number, which does not
// affect the gradient. Gorgonia's own softmax includes the first number of the whole matrix in every row's maximum,
// and overflows where a row's first number is much larger than the others.
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

// largestOp replaces each number by the largest of its row. Differentiation treats it as a constant. It takes its type
// and shape from another operation of one matrix.
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

// WriteHash implements [lib.Op]. It differs from the hash of the embedded operation.
func (o largestOp[T]) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

func (largestOp[T]) String() string { return "largest" }
