package onnx

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// Tensor is an input of a model: Floats, Ints or Bools hold its numbers, row-major.
type Tensor struct {
	Name   string
	Shape  []int
	Floats []float32
	Ints   []int64
	Bools  []bool
}

// Inputs lays observations out as the inputs of a model that [Write] made for spec, for programs that run it. Of one graph
// there is no count of nodes: a model does without. spec must have its MaskAfter where masks are dependent. The input before
// of firm's policies is not among them: it is what the caller saw a window earlier.
func Inputs(spec *envs.Spec, seen ...*envs.Observation) ([]Tensor, error) {
	var out []Tensor
	for i := range spec.Kinds {
		k := &spec.Kinds[i]
		var more []Tensor
		var err error
		if g, ok := k.Observation.(envs.Graph); ok {
			if k.Agents != 1 || len(spec.Kinds) != 1 || len(seen) == 0 {
				return nil, fmt.Errorf("onnx: %d observations of %d agents that see graphs, want one or more of one agent", len(seen), k.Agents)
			}
			more, err = graphsInputs(k, &g, seen)
		} else {
			more, err = vectorInputs(k, prefix(spec, i), i, seen)
		}
		if err != nil {
			return nil, fmt.Errorf("onnx: inputs of %s: %w", k.Name, err)
		}
		out = append(out, more...)
	}
	return out, nil
}

func vectorInputs(k *envs.Kind, prefix string, kind int, seen []*envs.Observation) ([]Tensor, error) {
	n, w, c := len(seen), k.Observation.Width(), k.Action.MaskWidth()
	values := Tensor{Name: prefix + "observation", Shape: []int{n, k.Agents, w}}
	active := Tensor{Name: prefix + "active", Shape: []int{n, k.Agents}}
	mask := Tensor{Name: prefix + "mask", Shape: []int{n, k.Agents, c}}
	var legal []Tensor
	if c > 0 && k.MaskAfter != nil {
		for i, shape := range tables(k) {
			legal = append(legal, Tensor{Name: prefix + "legal." + component(k, i), Shape: append([]int{n, k.Agents}, shape...)})
		}
	}
	for _, o := range seen {
		o := &o.Kinds[kind]
		values.Floats, active.Bools = append(values.Floats, o.Values...), append(active.Bools, o.Active...)
		for j := range k.Agents {
			switch {
			case legal != nil:
				if err := addTables(k, o, j, legal); err != nil {
					return nil, err
				}
			case len(o.Mask) > 0:
				mask.Bools = append(mask.Bools, o.MaskOf(j, c)...)
			default:
				mask.Bools = append(mask.Bools, all(c)...)
			}
		}
	}
	out := []Tensor{values, active}
	if c > 0 && legal == nil {
		out = append(out, mask)
	}
	return append(out, legal...), nil
}

func all(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// graphsInputs lays graphs one after another: the rows of each input, and edges between nodes by their numbers among all.
func graphsInputs(k *envs.Kind, s *envs.Graph, seen []*envs.Observation) ([]Tensor, error) {
	each := make([][]Tensor, len(seen))
	for i, o := range seen {
		var err error
		if each[i], err = graphInputs(k, s, &o.Kinds[0]); err != nil {
			return nil, err
		}
	}
	if len(seen) == 1 {
		return each[0], nil
	}
	out := make([]Tensor, len(each[0]))
	for i := range out {
		t := &out[i]
		*t = Tensor{Name: each[0][i].Name, Shape: slices.Clone(each[0][i].Shape)}
		t.Shape[0] = 0
		for _, one := range each {
			t.Shape[0] += one[i].Shape[0]
		}
		t.Floats = joined(each, func(one []Tensor) []float32 { return one[i].Floats })
		t.Bools = joined(each, func(one []Tensor) []bool { return one[i].Bools })
	}
	count := Tensor{Name: countInput, Shape: []int{len(seen), len(s.Nodes)}}
	before := make([][]int64, len(seen)+1) // how many nodes of each kind are in the graphs before each
	before[0] = make([]int64, len(s.Nodes))
	for g, o := range seen {
		before[g+1] = slices.Clone(before[g])
		for i := range s.Nodes {
			n := int64(o.Kinds[0].Graphs[0].Nodes[i].Len)
			before[g+1][i] += n
			count.Ints = append(count.Ints, n)
		}
	}
	for e, kind := range s.Edges {
		t := &out[len(s.Nodes)+2*e]
		t.Ints = []int64{}
		for end, node := range []int{kind.From, kind.To} {
			for g, one := range each {
				index := one[len(s.Nodes)+2*e].Ints
				n := len(index) / 2
				for _, i := range index[end*n : (end+1)*n] {
					t.Ints = append(t.Ints, i+before[g][node])
				}
			}
		}
		t.Shape = []int{2, len(t.Ints) / 2}
	}
	return append(out, count), nil
}

// joined has the entries of all parts, and is nil where the parts are.
func joined[T any](each [][]Tensor, part func([]Tensor) []T) []T {
	if part(each[0]) == nil {
		return nil
	}
	out := make([]T, 0, len(each)*len(part(each[0])))
	for _, one := range each {
		out = append(out, part(one)...)
	}
	return out
}

func graphInputs(k *envs.Kind, s *envs.Graph, o *envs.KindObservation) ([]Tensor, error) {
	var out []Tensor
	g := o.Graphs[0]
	for i, n := range s.Nodes {
		out = append(out, Tensor{Name: "node." + n.Name, Shape: []int{g.Nodes[i].Len, n.Width},
			Floats: g.Nodes[i].Features[:g.Nodes[i].Len*n.Width]})
	}
	for i, e := range s.Edges {
		set := &g.Edges[i]
		index := Tensor{Name: "edge." + e.Name + ".index", Shape: []int{2, set.Len}, Ints: []int64{}}
		for _, ends := range [][]int32{set.From, set.To} {
			for _, n := range ends[:set.Len] {
				index.Ints = append(index.Ints, int64(n))
			}
		}
		out = append(out, index, Tensor{Name: "edge." + e.Name + ".features", Shape: []int{set.Len, e.Width},
			Floats: set.Features[:set.Len*e.Width]})
	}
	var legal []Tensor
	for i, shape := range tables(k) {
		if k.MaskAfter == nil {
			shape = shape[i:]
		}
		legal = append(legal, Tensor{Name: "legal." + component(k, i), Shape: shape})
	}
	if k.MaskAfter != nil {
		if err := addTables(k, o, 0, legal); err != nil {
			return nil, err
		}
		return append(out, legal...), nil
	}
	from := 0
	for i := range legal {
		n := legal[i].Shape[0]
		legal[i].Bools = whole(k, s, o, i, from, n)
		from += n
	}
	return append(out, legal...), nil
}

// whole is the legal choices of component c, without dependent masks. Without a mask every choice that exists is legal.
func whole(k *envs.Kind, s *envs.Graph, o *envs.KindObservation, c, from, n int) []bool {
	if len(o.Mask) > 0 {
		return o.Mask[from : from+n]
	}
	out := all(n)
	if len(k.Points) > 0 && k.Points[c] >= 0 {
		clear(out[o.Graphs[0].Nodes[k.Points[c]].Len:s.Nodes[k.Points[c]].Capacity])
	}
	return out
}

// addTables adds an agent's rows to the tables of legal choices: table c has what is legal after each tuple of choices
// of the components before it, nothing after one that is not legal itself.
func addTables(k *envs.Kind, o *envs.KindObservation, agent int, legal []Tensor) error {
	partial := make([]float32, 0, len(legal))
	var walk func(c int, possible bool) error
	walk = func(c int, possible bool) error {
		n, at := legal[c].Shape[len(legal[c].Shape)-1], len(legal[c].Bools)
		legal[c].Bools = slices.Grow(legal[c].Bools, n)[:at+n]
		mask := legal[c].Bools[at:]
		clear(mask)
		if possible {
			if err := k.MaskAfter(o, agent, partial, mask); err != nil {
				return err
			}
		}
		if c == len(legal)-1 {
			return nil
		}
		for i, ok := range mask {
			partial = append(partial, float32(i))
			if err := walk(c+1, ok); err != nil {
				return err
			}
			partial = partial[:len(partial)-1]
		}
		return nil
	}
	return walk(0, o.Active[agent])
}
