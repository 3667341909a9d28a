package gorgonia

import (
	"errors"
	"fmt"
	"hash"
	"math"

	lib "gorgonia.org/gorgonia"
	dense "gorgonia.org/tensor"

	"github.com/stoker-rl/stoker/nets/internal/core"
)

// node is an expression whose value is a matrix.
type node = *lib.Node

// graph builds expressions. It stores the first failure, and operations after it return nil.
type graph[T core.Number] struct {
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

func newGraph[T core.Number](format dense.Dtype) *graph[T] {
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

// used marks the nodes that the outputs depend on: a layer without edges may not depend on x.
func (b *graph[T]) used(outputs []node) map[node]bool {
	seen := map[node]bool{}
	var visit func(n node)
	visit = func(n node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for children := b.g.From(n.ID()); children.Next(); {
			visit(children.Node().(node))
		}
	}
	for _, n := range outputs {
		visit(n)
	}
	return seen
}

// rescue turns a panic of gorgonia into an error.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("gorgonia: %v", p)
	}
}

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
type largestOp[T core.Number] struct{ lib.Op }

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

// largestInto applies [largestIntoOp].
func (b *graph[T]) largestInto(x node, to []int32, name string) (node, error) {
	like, err := lib.Exp(x)
	if err != nil {
		return nil, err
	}
	return lib.ApplyOp(largestIntoOp[T]{largestOp[T]{like.Op()}, to, name}, x)
}

// largestIntoOp replaces each edge's number by the largest number of the edges into the same node. Differentiation
// treats it as a constant, because the softmax does not depend on it.
type largestIntoOp[T core.Number] struct {
	largestOp[T]
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

// WriteHash implements [lib.Op].
func (o largestIntoOp[T]) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

func (o largestIntoOp[T]) String() string { return "largest into nodes, " + o.name }

// program runs expressions of a graph in order. Results stay until they are computed again, so that a backward pass
// can read the results of the forward pass.
type program[T core.Number] struct {
	steps  []step
	values []lib.Value
	places map[node]int // in values
}

// step is an operation on values. need is the set of passes that it must run in; see [program.compile].
type step struct {
	op   lib.Op
	args []int
	to   int
	need uint8
}

// compile adds the steps that the targets need to the pass need, except for steps that already run in the passes in
// have. Each call is for a pass of its own.
func (p *program[T]) compile(b *graph[T], targets []node, need, have uint8) (err error) {
	if b.err != nil {
		return b.err
	}
	defer rescue(&err)
	if p.places == nil {
		p.places = map[node]int{}
	}
	made := map[int]int{} // the step that makes a value
	for i, s := range p.steps {
		made[s.to] = i
	}
	var mark func(place int)
	mark = func(place int) {
		i, ok := made[place]
		if !ok || p.steps[i].need&(have|need) != 0 {
			return
		}
		p.steps[i].need |= need
		for _, a := range p.steps[i].args {
			mark(a)
		}
	}
	var visit func(n node) (int, error)
	visit = func(n node) (int, error) {
		if place, ok := p.places[n]; ok {
			mark(place)
			return place, nil
		}
		var args []int
		for children := b.g.From(n.ID()); children.Next(); {
			place, err := visit(children.Node().(node))
			if err != nil {
				return 0, err
			}
			args = append(args, place)
		}
		v, leaf := b.values[n]
		if !leaf && len(args) == 0 { // a constant
			if n.Op() == nil {
				return 0, fmt.Errorf("gorgonia: node %v has neither a value nor an operation", n)
			}
			if v, err = n.Op().Do(); err != nil {
				return 0, err
			}
		}
		place := len(p.values)
		p.values, p.places[n] = append(p.values, v), place
		if v == nil {
			made[place] = len(p.steps)
			p.steps = append(p.steps, step{n.Op(), args, place, need})
		}
		return place, nil
	}
	for _, n := range targets {
		if _, err := visit(n); err != nil {
			return err
		}
	}
	return nil
}

// run executes the steps of the given passes.
func (p *program[T]) run(passes uint8) (err error) {
	defer rescue(&err)
	var args [3]lib.Value // operations have at most three operands
	for _, s := range p.steps {
		if s.need&passes == 0 {
			continue
		}
		for i, a := range s.args {
			args[i] = p.values[a]
		}
		if p.values[s.to], err = s.op.Do(args[:len(s.args)]...); err != nil {
			return fmt.Errorf("gorgonia: %w", err)
		}
	}
	return nil
}

// numbers are the values of a computed matrix, row by row.
func (p *program[T]) numbers(n node) []T { return matrix[T](p.values[p.places[n]].(*dense.Dense)) }

// matrix is a value's memory.
func matrix[T core.Number](x *dense.Dense) []T { return x.Data().([]T) }
