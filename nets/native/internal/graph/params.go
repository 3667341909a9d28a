package graph

import (
	"github.com/stoker-rl/stoker/nets/native/internal/tile"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// params is a network's parameters in rows of a multiple of 16: those that have such rows lie where they are,
// the others are copied before each pass. The last layers of heads are transposed, [out][hidden].
type params struct {
	v             *vectors
	values, grads []float32 // the network's
	all           []*param
	size          int
	data          []float32
}

// param is a parameter, or numbers derived from some (which have offset −1 and no gradient of their own).
type param struct {
	p                  *params
	offset, rows, cols int // in the net's vectors
	at, stride         int // in rows of params' order
	transposed         bool
}

func (g *params) init(v *vectors) { g.v, g.values, g.grads = v, v.Params.Data(), v.Grads.Data() }

// of returns the parameter of a name.
func (g *params) of(format string, args ...any) *param {
	s := g.v.Slot(format, args...)
	p := &param{p: g, offset: s.Offset, rows: 1, cols: s.Shape[len(s.Shape)-1]}
	if len(s.Shape) == 2 {
		p.rows = s.Shape[0]
	}
	g.add(p)
	return p
}

// transpose makes it [out][in]: before finish.
func (p *param) transpose() *param {
	p.transposed, p.rows, p.cols = true, p.cols, p.rows
	return p
}

// derived returns room for numbers that a pass computes.
func (g *params) derived(rows, stride int) *param {
	p := &param{p: g, offset: -1, rows: rows, cols: stride}
	g.add(p)
	return p
}

func (g *params) add(p *param) { g.all = append(g.all, p) }

// finish gives all their places.
func (g *params) finish() {
	for _, p := range g.all {
		p.at, p.stride = g.size, padded(p.cols)
		g.size += p.rows * p.stride
	}
	g.data = make([]float32, g.size)
}

// direct says whether the parameter lies in the net's vector as it is wanted.
func (p *param) direct() bool { return p.offset >= 0 && !p.transposed && p.cols == p.stride }

// value is the parameter, [rows][stride].
func (p *param) value() []float32 {
	if p.direct() {
		return p.p.values[p.offset:][:p.rows*p.stride]
	}
	return p.in(p.p.data)
}

// grad is the gradient in the net's vector, [rows][cols].
func (p *param) grad() []float32 { return p.p.grads[p.offset:][:p.rows*p.cols] }

// in is the parameter's part of a shard of gradients.
func (p *param) in(x []float32) []float32 { return x[p.at:][:p.rows*p.stride] }

// from is the parameter's rows from number r on, fromIn those of its gradient in a shard.
func (p *param) from(r int) []float32                { return p.value()[r*p.stride:] }
func (p *param) fromIn(x []float32, r int) []float32 { return p.in(x)[r*p.stride:] }

// copyAll copies the parameters that are not direct.
func (g *params) copyAll() {
	for _, p := range g.all {
		if p.offset < 0 || p.direct() {
			continue
		}
		src, dst := g.values[p.offset:], g.data[p.at:]
		for r := range p.rows {
			row := dst[r*p.stride:][:p.cols]
			if !p.transposed {
				copy(row, src[r*p.cols:])
				continue
			}
			for c := range row {
				row[c] = src[c*p.rows+r]
			}
		}
	}
}

// reduce adds the shards of a parameter's gradient to the net's and leaves them at zero. Of derived numbers it
// leaves the sum in the first.
func (p *param) reduce(k *kernel.Set, shards [][]float32) {
	first := p.in(shards[0])
	for _, s := range shards[1:] {
		tile.AddUp(k, first, p.in(s))
	}
	if p.offset < 0 {
		return
	}
	dst := p.p.grads[p.offset:]
	if p.direct() {
		tile.AddUp(k, dst[:len(first)], first)
		return
	}
	for r := range p.rows {
		for c, v := range first[r*p.stride:][:p.cols] {
			if p.transposed {
				dst[c*p.rows+r] += v
			} else {
				dst[r*p.cols+c] += v
			}
		}
	}
	clear(first)
}
