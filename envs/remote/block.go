package remote

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/stoker-rl/stoker/envs"
)

// Words of the memory, 4 bytes each. The client writes those of the first line of 64 bytes, the server the others: no
// side writes where the other one looks again and again.
const (
	askedWord    = 0  // the number of the step that is asked for
	framesWord   = 1  // how many frames the client has sent since [Open]
	doneWord     = 16 // the number of the last step that was carried out
	failedWord   = 17 // 1 where that step failed: the answer to [Step] says why
	endedWord    = 18 // how many copies' episodes have ended
	replacedWord = 19 // how many forbidden choices were replaced
	sleepsWord   = 20 // 1 where the server waits for a frame, and looks at no word
	wordBytes    = 128
)

// block is the memory that both sides see: words, and arrays.
type block struct {
	arrays []Array
	bytes  int
	memory []byte
}

// sizes of the types of arrays.
var sizes = map[string]int{"float32": 4, "float64": 8, "int32": 4, "int64": 8, "uint64": 8, "uint8": 1, "bool": 1}

// add adds an array, at a multiple of 8 bytes. Empty ones are there too: their shapes say so.
func (b *block) add(name, dtype string, shape ...int) {
	b.bytes = (b.bytes + 7) / 8 * 8
	b.arrays = append(b.arrays, Array{name, dtype, shape, b.bytes})
	b.bytes += sizes[dtype] * count(shape)
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// newBlock lays out what n copies of an environment are told and what they tell.
func newBlock(s *envs.Spec, n int) *block {
	b := &block{bytes: wordBytes}
	b.add("commands", "uint8", n)
	b.add("seeds", "uint64", n)
	for i := range s.Kinds {
		b.add(s.Kinds[i].Name+"/action", "float32", n, s.Kinds[i].Agents, s.Kinds[i].Action.Width())
	}
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
	b.add("reward", "float64", n) // the mean of all agents
	b.add("terminated", "bool", n)
	b.add("truncated", "bool", n)
	b.add("elapsed", "int64", n)
	b.add("info", "float64", n, len(s.Info))
	b.add("substituted", "int32", n)
	return b
}

// word is a word of the memory.
func (b *block) word(i int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&b.memory[4*i])) }

// in is an array as a slice of the memory. A name or a type that the block does not have is an error of this package.
func in[T any](b *block, name string) []T {
	var x T
	a := b.arrays[slices.IndexFunc(b.arrays, func(a Array) bool { return a.Name == name })]
	if int(unsafe.Sizeof(x)) != sizes[a.Type] {
		panic(fmt.Sprintf("the array %s is of %s, not of %T", name, a.Type, x))
	}
	n := count(a.Shape)
	if n == 0 {
		return nil
	}
	part := b.memory[a.Offset : a.Offset+n*sizes[a.Type]]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(part))), n)
}

// graphs are where the graphs of a kind lie.
type graphs struct {
	nodes, edges []rows
}

// rows are the features of the nodes or edges of a kind, how many of these there are, and where edges start and end.
type rows struct {
	features        []float32
	count, ends     []int32
	shown           []int // the counts that were shown last: what is beyond them is zero
	capacity, width int
}

func graphsIn(b *block, kind string, g envs.Graph) *graphs {
	out := &graphs{}
	of := func(name string, capacity, width int) rows {
		count := in[int32](b, name+"/count")
		return rows{features: in[float32](b, name), count: count, shown: make([]int, len(count)), capacity: capacity, width: width}
	}
	for _, x := range g.Nodes {
		out.nodes = append(out.nodes, of(kind+"/nodes/"+x.Name, x.Capacity, x.Width))
	}
	for _, x := range g.Edges {
		r := of(kind+"/edges/"+x.Name, x.Capacity, x.Width)
		r.ends = in[int32](b, kind+"/edges/"+x.Name+"/ends")
		out.edges = append(out.edges, r)
	}
	return out
}

// show writes a graph as that of agent i of all copies. What is beyond a count is zero.
func (g *graphs) show(i int, v *envs.GraphValue) {
	for t := range g.nodes {
		g.nodes[t].show(i, v.Nodes[t].Len, v.Nodes[t].Features)
	}
	for t := range g.edges {
		e, r := &v.Edges[t], &g.edges[t]
		at, before := r.ends[2*i*r.capacity:2*(i+1)*r.capacity], r.shown[i]
		padded(at[:r.capacity], e.From[:e.Len], before)
		padded(at[r.capacity:], e.To[:e.Len], before)
		r.show(i, e.Len, e.Features)
	}
}

func (r *rows) show(i, n int, features []float32) {
	size := r.capacity * r.width
	padded(r.features[i*size:(i+1)*size], features[:n*r.width], r.shown[i]*r.width)
	r.count[i], r.shown[i] = int32(n), n
}

// padded copies values to dst, and clears what is left there of as many as there were before.
func padded[T any](dst, values []T, before int) {
	n := copy(dst, values)
	clear(dst[n:max(n, min(before, len(dst)))])
}
