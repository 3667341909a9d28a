package remote

import (
	"encoding/binary"

	"github.com/stoker-rl/stoker/envs"
)

// block lays the arrays out that answer a step.
type block struct {
	arrays []Array
	bytes  int
}

// sizes of the types of arrays.
var sizes = map[string]int{"float32": 4, "float64": 8, "int32": 4, "int64": 8, "bool": 1}

// add adds an array, at a multiple of 8 bytes. Empty ones are there too: their shapes say so.
func (b *block) add(name, dtype string, shape ...int) {
	b.bytes = (b.bytes + 7) / 8 * 8
	b.arrays = append(b.arrays, Array{name, dtype, shape, b.bytes})
	n := sizes[dtype]
	for _, d := range shape {
		n *= d
	}
	b.bytes += n
}

// newBlock lays out what n copies of an environment tell after a step.
func newBlock(s *envs.Spec, n int) *block {
	b := &block{}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		b.add(k.Name+"/observation", "float32", n, k.Agents, k.Observation.Width())
		b.add(k.Name+"/active", "bool", n, k.Agents)
		b.add(k.Name+"/mask", "bool", n, k.Agents, k.Action.MaskWidth())
		if g, ok := k.Observation.(envs.Graph); ok {
			for _, x := range g.Nodes {
				b.add(k.Name+"/nodes/"+x.Name, "float32", n, k.Agents, x.Capacity, x.Width)
				b.add(k.Name+"/nodes/"+x.Name+"/count", "int32", n, k.Agents)
			}
			for _, x := range g.Edges {
				b.add(k.Name+"/edges/"+x.Name, "float32", n, k.Agents, x.Capacity, x.Width)
				b.add(k.Name+"/edges/"+x.Name+"/ends", "int32", n, k.Agents, 2, x.Capacity)
				b.add(k.Name+"/edges/"+x.Name+"/count", "int32", n, k.Agents)
			}
		}
		b.add(k.Name+"/reward", "float32", n, k.Agents)
	}
	b.add("terminated", "bool", n)
	b.add("truncated", "bool", n)
	b.add("elapsed", "int64", n)
	b.add("info", "float64", n, len(s.Info))
	b.add("substituted", "int32", n)
	return b
}

// writer appends arrays to a frame in the order of a block.
type writer struct {
	dst  []byte
	next int // array
	b    *block
}

// put appends the values of the next array. They are of a type that package binary writes whole.
func (w *writer) put(values any) {
	w.skip()
	dst, err := binary.Append(w.dst, binary.NativeEndian, values)
	if err != nil {
		panic(err) // a type without a size: not of this package
	}
	w.dst = dst
}

// skip fills up to the next array.
func (w *writer) skip() {
	for len(w.dst) < header+w.b.arrays[w.next].Offset {
		w.dst = append(w.dst, 0)
	}
	w.next++
}

// graphs appends the arrays of the graphs of a kind. What is beyond a count is zero.
func (w *writer) graphs(g envs.Graph, all []*envs.GraphValue) {
	counts := func(of func(*envs.GraphValue) int) {
		w.skip()
		for _, x := range all {
			w.dst = binary.NativeEndian.AppendUint32(w.dst, uint32(of(x)))
		}
	}
	for t, x := range g.Nodes {
		w.skip()
		for _, v := range all {
			w.padded(v.Nodes[t].Features[:v.Nodes[t].Len*x.Width], (x.Capacity-v.Nodes[t].Len)*x.Width*4)
		}
		counts(func(v *envs.GraphValue) int { return v.Nodes[t].Len })
	}
	for t, x := range g.Edges {
		w.skip()
		for _, v := range all {
			w.padded(v.Edges[t].Features[:v.Edges[t].Len*x.Width], (x.Capacity-v.Edges[t].Len)*x.Width*4)
		}
		w.skip()
		for _, v := range all {
			e := &v.Edges[t]
			w.padded(e.From[:e.Len], (x.Capacity-e.Len)*4)
			w.padded(e.To[:e.Len], (x.Capacity-e.Len)*4)
		}
		counts(func(v *envs.GraphValue) int { return v.Edges[t].Len })
	}
}

// padded appends values and zero bytes.
func (w *writer) padded(values any, zeros int) {
	dst, err := binary.Append(w.dst, binary.NativeEndian, values)
	if err != nil {
		panic(err) // as in put
	}
	w.dst = append(dst, make([]byte, zeros)...)
}
