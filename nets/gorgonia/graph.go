package gorgonia

import (
	"fmt"

	lib "gorgonia.org/gorgonia"
	dense "gorgonia.org/tensor"
)

// node is an expression whose value is a matrix.
type node = *lib.Node

// graph builds expressions. It stores the first failure, and operations after it return nil.
type graph[T number] struct {
	g      *lib.ExprGraph
	format dense.Dtype
	values map[node]lib.Value // of leaves
	fixed  map[fixedKey]node
	err    error
}

// fixedKey names a constant matrix of r rows and c columns: one row and one column (−1 for all) hold the value.
type fixedKey struct {
	r, c, row, column int
	value             float64
}

func newGraph[T number](format dense.Dtype) *graph[T] {
	return &graph[T]{g: lib.NewGraph(), format: format, values: map[node]lib.Value{}, fixed: map[fixedKey]node{}}
}

// leaf is a matrix whose values are in data.
func (b *graph[T]) leaf(rows, cols int, data []T) node {
	n := lib.NewMatrix(b.g, b.format, lib.WithShape(rows, cols), lib.WithName(fmt.Sprintf("leaf%d", len(b.values))))
	b.values[n] = dense.New(dense.WithShape(rows, cols), dense.WithBacking(data))
	return n
}

// filled is a matrix of equal values.
func (b *graph[T]) filled(rows, cols int, v float64) node {
	return b.marked(fixedKey{rows, cols, -1, -1, v})
}

// marked is a matrix of zeros with the key's value in the key's row and column.
func (b *graph[T]) marked(k fixedKey) node {
	if n, ok := b.fixed[k]; ok {
		return n
	}
	data := make([]T, k.r*k.c)
	for i := range data {
		if (k.row < 0 || k.row == i/k.c) && (k.column < 0 || k.column == i%k.c) {
			data[i] = T(k.value)
		}
	}
	n := b.leaf(k.r, k.c, data)
	b.fixed[k] = n
	return n
}

func (b *graph[T]) keep(n node, err error) node {
	if err != nil && b.err == nil {
		b.err = err
	}
	if b.err != nil {
		return nil
	}
	return n
}

func (b *graph[T]) one(f func(node) (node, error), x node) node {
	if b.err != nil {
		return nil
	}
	return b.keep(f(x))
}

func (b *graph[T]) two(f func(x, y node) (node, error), x, y node) node {
	if b.err != nil {
		return nil
	}
	return b.keep(f(x, y))
}

func (b *graph[T]) exp(x node) node  { return b.one(lib.Exp, x) }
func (b *graph[T]) log(x node) node  { return b.one(lib.Log, x) }
func (b *graph[T]) neg(x node) node  { return b.one(lib.Neg, x) }
func (b *graph[T]) abs(x node) node  { return b.one(lib.Abs, x) }
func (b *graph[T]) sqrt(x node) node { return b.one(lib.Sqrt, x) }
func (b *graph[T]) tanh(x node) node { return b.one(lib.Tanh, x) }

func (b *graph[T]) product(x, y node) node { return b.two(lib.Mul, x, y) }
func (b *graph[T]) add(x, y node) node     { return b.two(lib.Add, x, y) }
func (b *graph[T]) sub(x, y node) node     { return b.two(lib.Sub, x, y) }
func (b *graph[T]) times(x, y node) node   { return b.two(lib.HadamardProd, x, y) }
func (b *graph[T]) over(x, y node) node    { return b.two(lib.HadamardDiv, x, y) }

// scaled is v·x.
func (b *graph[T]) scaled(x node, v float64) node { return b.times(x, lib.NewConstant(T(v))) }

// plus is x + v.
func (b *graph[T]) plus(x node, v float64) node { return b.add(x, lib.NewConstant(T(v))) }

// sum is x + y, where nil is zero.
func (b *graph[T]) sum(x, y node) node {
	if x == nil {
		return y
	}
	return b.add(x, y)
}

// compare gives 1 where f holds and 0 elsewhere. It has no gradient.
func (b *graph[T]) compare(f func(x, y node, same bool) (node, error), x, y node) node {
	return b.two(func(x, y node) (node, error) { return f(x, y, true) }, x, y)
}

// above is 1 where x > v.
func (b *graph[T]) above(x node, v float64) node { return b.compare(lib.Gt, x, lib.NewConstant(T(v))) }

// below is 1 where x < v.
func (b *graph[T]) below(x node, v float64) node { return b.compare(lib.Lt, x, lib.NewConstant(T(v))) }

// not is 1 − x.
func (b *graph[T]) not(x node) node { return b.plus(b.neg(x), 1) }

// rows repeats x [1, n] for each of r rows.
func (b *graph[T]) rows(x node, r int) node { return b.product(b.filled(r, 1, 1), x) }

// total is the sum of each row of x [r, m], repeated in n columns.
func (b *graph[T]) total(x node, m, n int) node { return b.product(x, b.filled(m, n, 1)) }

// gradients returns the gradients w.r.t. leaves; by are the gradients w.r.t. outputs. Each leaf must affect an output.
func (b *graph[T]) gradients(outputs, by, leaves []node) (grads []node, err error) {
	if b.err != nil {
		return nil, b.err
	}
	defer rescue(&err)
	return lib.Backpropagate(outputs, by, leaves)
}

// rescue turns a panic of gorgonia into an error.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("gorgonia: %v", p)
	}
}
