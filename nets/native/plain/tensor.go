package plain

import "github.com/stoker-rl/stoker/nets/native/core"

// Tensor is a row-major tensor.
type Tensor[T core.Number] struct {
	core.Header
	data []T
}

// NewTensor implements [core.Backend].
func (*Backend[T]) NewTensor(h core.Header) *Tensor[T] {
	return &Tensor[T]{h, make([]T, h.Len())}
}

// Resize implements [core.Tensor].
func (t *Tensor[T]) Resize(rows int) {
	t.SetRows(rows)
	t.data = core.Grow(t.data, t.Len())
}

// Clear implements [core.Tensor].
func (t *Tensor[T]) Clear() { clear(t.data) }

// Set implements [nets.Tensor].
func (t *Tensor[T]) Set(src []float32) {
	if t.Host("Set", len(src)) {
		core.Convert(t.data, src)
	}
}

// Get implements [nets.Tensor].
func (t *Tensor[T]) Get(dst []float32) {
	if t.Host("Get", len(dst)) {
		core.Convert(dst, t.data)
	}
}

// Set64 implements [nets.Tensor].
func (t *Tensor[T]) Set64(src []float64) {
	if t.Host("Set64", len(src)) {
		core.Convert(t.data, src)
	}
}

// Get64 implements [nets.Tensor].
func (t *Tensor[T]) Get64(dst []float64) {
	if t.Host("Get64", len(dst)) {
		core.Convert(dst, t.data)
	}
}

// SetBlock sets features from to from+width of samples row to row+rows of one agent: those of sample row + r
// are src[r·stride] and those behind it. It is Set in parts, for numbers that lie in rows of something larger.
func (t *Tensor[T]) SetBlock(agent, row, rows, from, width int, src []float32, stride int) {
	if !t.HostBlock("SetBlock", core.Block{Agent: agent, Row: row, Rows: rows, From: from, Width: width}, len(src),
		stride) {
		return
	}
	shape := t.Shape()
	for r := range rows {
		core.Convert(t.data[(agent*shape[1]+row+r)*shape[2]+from:][:width], src[r*stride:][:width])
	}
}

// GetBlock copies samples row to row+rows of one agent to dst, row after row. It is Get in parts, which several
// goroutines may read.
func (t *Tensor[T]) GetBlock(agent, row, rows int, dst []float32) {
	if t.HostRows("GetBlock", agent, row, rows, len(dst)) {
		shape := t.Shape()
		core.Convert(dst, t.data[(agent*shape[1]+row)*shape[2]:][:len(dst)])
	}
}

// view is a tensor of [agents, batch, features] within other memory: features of agent i and sample b start at
// i·agent + b·row. Views with agent 0 are one matrix that all agents see.
type view[T core.Number] struct {
	data       []T
	agent, row int
}

// stacked is the view of a whole tensor.
func stacked[T core.Number](data []T, batch, width int) view[T] {
	return view[T]{data, batch * width, width}
}

// at returns n features of agent i and sample b.
func (v view[T]) at(i, b, n int) []T {
	o := i*v.agent + b*v.row
	return v.data[o : o+n : o+n]
}

// from is the view without the first n features.
func (v view[T]) from(n int) view[T] { return view[T]{v.data[n:], v.agent, v.row} }
