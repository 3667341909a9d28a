package tensors

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/serving/internal/wire"
)

// Batch is the observations of a request and the actions that answer it.
type Batch struct {
	// N is the number of rows.
	N int

	obs     *envs.Batch // has room for at least N rows
	act     *envs.ActionBatch
	seen    *envs.Observation // row 0
	given   []int             // for each input of the layout the number of the request's tensor, −1 where it is missing
	flags   []bool
	partial []float32
	indices []int64
	decoded [][]float32 // by kind, in the platform's units
}

// Seen is the observation of row i.
func (b *Batch) Seen(i int) *envs.Observation { return b.obs.Env(i) }

// Action is the action of row i, to be written.
func (b *Batch) Action(i int) *envs.Action { return b.act.Env(i) }

// truths is room for n values that are needed for a moment.
func (b *Batch) truths(n int) []bool {
	if cap(b.flags) < n {
		b.flags = make([]bool, n)
	}
	return b.flags[:n]
}

// Pool keeps batches of a layout to be used again.
type Pool struct {
	layout *Layout
	free   [32]sync.Pool // by the binary logarithm of their room
}

// NewPool returns an empty pool.
func NewPool(l *Layout) *Pool { return &Pool{layout: l} }

// get returns a batch with room for n ≥ 1 rows.
func (p *Pool) get(n int) *Batch {
	size := bits.Len(uint(n - 1))
	if b, ok := p.free[size].Get().(*Batch); ok {
		b.N = n
		return b
	}
	l := p.layout
	room := 1 << size
	b := &Batch{N: n, obs: envs.NewBatch(l.spec, room), act: envs.NewActionBatch(l.spec, room),
		given: make([]int, len(l.inputs)), partial: make([]float32, 0, 8)}
	b.seen = b.obs.Env(0)
	for k := range l.spec.Kinds {
		b.decoded = append(b.decoded, make([]float32, room*l.spec.Kinds[k].Agents*l.columns(k)))
	}
	return b
}

// Put gives a batch back.
func (p *Pool) Put(b *Batch) { p.free[bits.Len(uint(b.obs.N-1))].Put(b) }

// FieldError says which input is wrong, and how.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// TooLarge is the error of a batch of more rows than are allowed.
type TooLarge struct{ Rows, Most int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the batch has %d rows, want at most %d", e.Rows, e.Most)
}

// Rows checks the names and shapes of a request of at most most rows, and returns how many rows it has.
func (p *Pool) Rows(r *wire.Request, most int64) (int, error) { return p.layout.rows(r, most) }

// Bytes is about what a batch of n rows takes, and a response of it as text.
func (p *Pool) Bytes(n int) int64 { return p.layout.row << bits.Len(uint(n-1)) }

// Read reads a request of n rows, as [Pool.Rows] says. The batch is to be given back to the pool.
func (p *Pool) Read(r *wire.Request, n int) (*Batch, error) {
	b := p.get(n)
	if err := p.layout.read(r, b); err != nil {
		p.Put(b)
		return nil, err
	}
	return b, nil
}

// rows checks names and shapes, and returns the size of the batch.
func (l *Layout) rows(r *wire.Request, most int64) (int, error) {
	n := int64(-1)
	for i := range r.Inputs {
		t := &r.Inputs[i]
		j, ok := l.byName[t.Name]
		if !ok {
			return 0, &FieldError{fmt.Sprintf("inputs[%d].name", i), fmt.Errorf("unknown input %q, want %s", t.Name, l.names())}
		}
		in := &l.inputs[j]
		if !in.fitted(t.Shape) {
			return 0, fail(i, t, fmt.Errorf("shape is %v, want %v", t.Shape, in.Shape))
		}
		if t.Type != in.Type {
			return 0, fail(i, t, fmt.Errorf("datatype is %q, want %q", t.Type, in.Type))
		}
		if l.graphs(in.kind) {
			continue
		}
		switch {
		case t.Shape[0] < 1:
			return 0, fail(i, t, fmt.Errorf("shape is %v, want at least one row", t.Shape))
		case t.Shape[0] > most:
			return 0, &TooLarge{t.Shape[0], most}
		case n >= 0 && t.Shape[0] != n:
			return 0, fail(i, t, fmt.Errorf("has %d rows, the inputs before have %d", t.Shape[0], n))
		case l.single && t.Shape[0] != 1:
			return 0, fail(i, t, fmt.Errorf("has %d rows, want 1: a policy that sees a graph decides one at a time", t.Shape[0]))
		}
		n = t.Shape[0]
	}
	if n < 0 && l.single {
		n = 1
	}
	if n < 0 {
		return 0, &FieldError{"inputs", fmt.Errorf("there is none, want %s", l.names())}
	}
	return int(n), nil
}

func fail(i int, t *wire.Tensor, err error) error {
	return &FieldError{fmt.Sprintf("inputs[%d] %q", i, t.Name), err}
}

// read fills a batch.
func (l *Layout) read(r *wire.Request, b *Batch) error {
	for i := range b.given {
		b.given[i] = -1
	}
	for i := range r.Inputs {
		j := l.byName[r.Inputs[i].Name]
		if b.given[j] >= 0 {
			return fail(i, &r.Inputs[i], fmt.Errorf("is given twice, first as inputs[%d]", b.given[j]))
		}
		b.given[j] = i
	}
	for j := range l.inputs {
		in, i := &l.inputs[j], b.given[j]
		if i < 0 {
			if !in.Optional {
				return &FieldError{"inputs", fmt.Errorf("%q is missing, want %v", in.Name, in.Info)}
			}
			l.absent(in, b)
			continue
		}
		if err := l.place(in, &r.Inputs[i], b); err != nil {
			return fail(i, &r.Inputs[i], err)
		}
	}
	for j := range l.inputs { // the tables before the last one are checked against it
		if in := &l.inputs[j]; (in.role == starts || in.role == amounts) && b.given[j] >= 0 {
			if err := l.agree(in, &r.Inputs[b.given[j]], b); err != nil {
				return fail(b.given[j], &r.Inputs[b.given[j]], err)
			}
		}
	}
	for k := range l.spec.Kinds {
		if err := l.finish(k, b); err != nil {
			return &FieldError{l.spec.Kinds[k].Name, err}
		}
	}
	return nil
}

// absent writes what an optional input is where it is not given.
func (l *Layout) absent(in *input, b *Batch) {
	k := &l.spec.Kinds[in.kind]
	all, n := &b.obs.Kinds[in.kind], b.N*k.Agents
	switch in.role {
	case active:
		fill(all.Active[:n])
	case mask:
		fill(all.Mask[:n*k.Action.MaskWidth()])
	}
}

func fill(flags []bool) {
	for i := range flags {
		flags[i] = true
	}
}

// place reads a tensor into its place.
func (l *Layout) place(in *input, t *wire.Tensor, b *Batch) error {
	k := &l.spec.Kinds[in.kind]
	all, n := &b.obs.Kinds[in.kind], b.N*k.Agents
	switch in.role {
	case values:
		return t.ReadFloats(all.Values[:n*k.Observation.Width()])
	case active:
		return t.ReadBools(all.Active[:n])
	case mask:
		return t.ReadBools(all.Mask[:n*k.Action.MaskWidth()])
	case nodes:
		g := all.Graphs[0]
		set, space := &g.Nodes[in.part], g.Space.Nodes[in.part]
		if t.Shape[0] > int64(space.Capacity) {
			return fmt.Errorf("has %d nodes, want at most %d", t.Shape[0], space.Capacity)
		}
		set.Len = int(t.Shape[0])
		return t.ReadFloats(set.Features[:set.Len*space.Width])
	case index:
		return l.index(in, t, b)
	case features:
		g := all.Graphs[0]
		set, space := &g.Edges[in.part], g.Space.Edges[in.part]
		if t.Shape[0] != int64(set.Len) {
			return fmt.Errorf("has %d edges, edge.%s.index has %d", t.Shape[0], space.Name, set.Len)
		}
		return t.ReadFloats(set.Features[:set.Len*space.Width])
	case fits:
		return l.readFits(in, t, b)
	}
	return nil
}

// index reads the ends of edges.
func (l *Layout) index(in *input, t *wire.Tensor, b *Batch) error {
	g := b.obs.Kinds[in.kind].Graphs[0]
	set, space := &g.Edges[in.part], g.Space.Edges[in.part]
	n := int(t.Shape[1])
	if n > space.Capacity {
		return fmt.Errorf("has %d edges, want at most %d", n, space.Capacity)
	}
	if cap(b.indices) < 2*n {
		b.indices = make([]int64, 2*n)
	}
	ends := b.indices[:2*n]
	if err := t.ReadInts(ends); err != nil {
		return err
	}
	set.Len = n
	for e := range n {
		from, to := ends[e], ends[n+e]
		if f, t := g.Nodes[space.From].Len, g.Nodes[space.To].Len; from < 0 || to < 0 || from >= int64(f) || to >= int64(t) {
			return fmt.Errorf("edge %d goes from %d to %d, there are %d nodes of kind %s and %d of kind %s", e, from, to, f,
				g.Space.Nodes[space.From].Name, t, g.Space.Nodes[space.To].Name)
		}
		set.From[e], set.To[e] = int32(from), int32(to)
	}
	return nil
}

// finish makes an observation what environments promise: rows of absent agents are zero, and an agent that is there has
// a legal choice.
func (l *Layout) finish(kind int, b *Batch) error {
	k, all := &l.spec.Kinds[kind], &b.obs.Kinds[kind]
	if l.graphs(kind) {
		all.Active[0] = true
		if k.Legal > 0 {
			return l.masks(kind, b)
		}
		return nil
	}
	w, m := k.Observation.Width(), k.Action.MaskWidth()
	for i := range b.N * k.Agents {
		row := all.Mask[i*m : (i+1)*m]
		if !all.Active[i] {
			clear(all.Values[i*w : (i+1)*w])
			clear(row)
			continue
		}
		for c, n := range l.choices[kind] {
			if n > 0 && !some(row[:n]) {
				return fmt.Errorf("mask of row %d, agent %d allows no choice of component %d", i/k.Agents, i%k.Agents, c)
			}
			row = row[n:]
		}
	}
	return nil
}

func some(flags []bool) bool {
	for _, ok := range flags {
		if ok {
			return true
		}
	}
	return false
}
