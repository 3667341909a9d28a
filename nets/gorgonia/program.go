package gorgonia

import (
	"fmt"

	lib "gorgonia.org/gorgonia"
	dense "gorgonia.org/tensor"
)

// program runs expressions of a graph in order. Results stay until they are computed again, so that a backward pass
// can read the results of the forward pass.
type program[T number] struct {
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
func matrix[T number](x *dense.Dense) []T { return x.Data().([]T) }
