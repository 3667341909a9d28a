package native

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// graphParams is a network's parameters in rows of a multiple of 16: those that have such rows lie where they are, the others are
// copied before each pass. The last layers of heads are turned, [out][hidden].
type graphParams struct {
	n    *net[float32]
	all  []*graphParam
	size int
	data []float32
}

// graphParam is a parameter, or numbers derived from some (which have offset −1 and no gradient of their own).
type graphParam struct {
	p                  *graphParams
	offset, rows, cols int // in the net's vectors
	at, stride         int // in rows of graphParams' order
	turned             bool
}

// of returns the parameter of a name.
func (g *graphParams) of(format string, args ...any) *graphParam {
	s := g.n.slots[fmt.Sprintf(format, args...)]
	p := &graphParam{p: g, offset: s.Offset, rows: 1, cols: s.Shape[len(s.Shape)-1]}
	if len(s.Shape) == 2 {
		p.rows = s.Shape[0]
	}
	g.add(p)
	return p
}

// turn makes it [out][in]: before finish.
func (p *graphParam) turn() *graphParam {
	p.turned, p.rows, p.cols = true, p.cols, p.rows
	return p
}

// derived returns room for numbers that a pass computes.
func (g *graphParams) derived(rows, stride int) *graphParam {
	p := &graphParam{p: g, offset: -1, rows: rows, cols: stride}
	g.add(p)
	return p
}

func (g *graphParams) add(p *graphParam) { g.all = append(g.all, p) }

// finish gives all their places.
func (g *graphParams) finish() {
	for _, p := range g.all {
		p.at, p.stride = g.size, padded(p.cols)
		g.size += p.rows * p.stride
	}
	g.data = make([]float32, g.size)
}

// direct says whether the parameter lies in the net's vector as it is wanted.
func (p *graphParam) direct() bool { return p.offset >= 0 && !p.turned && p.cols == p.stride }

// value is the parameter, [rows][stride].
func (p *graphParam) value() []float32 {
	if p.direct() {
		return p.p.n.params.data[p.offset:][:p.rows*p.stride]
	}
	return p.in(p.p.data)
}

// grad is the gradient in the net's vector, [rows][cols].
func (p *graphParam) grad() []float32 { return p.p.n.grads.data[p.offset:][:p.rows*p.cols] }

// in is the parameter's part of a share of gradients.
func (p *graphParam) in(x []float32) []float32 { return x[p.at:][:p.rows*p.stride] }

// from is the parameter's rows from number r on, fromIn those of its gradient in a share.
func (p *graphParam) from(r int) []float32                { return p.value()[r*p.stride:] }
func (p *graphParam) fromIn(x []float32, r int) []float32 { return p.in(x)[r*p.stride:] }

// copyAll copies the parameters that are not direct.
func (g *graphParams) copyAll() {
	for _, p := range g.all {
		if p.offset < 0 || p.direct() {
			continue
		}
		src, dst := g.n.params.data[p.offset:], g.data[p.at:]
		for r := range p.rows {
			row := dst[r*p.stride:][:p.cols]
			if !p.turned {
				copy(row, src[r*p.cols:])
				continue
			}
			for c := range row {
				row[c] = src[c*p.rows+r]
			}
		}
	}
}

// reduce adds the shares of a parameter's gradient to the net's and leaves them at zero. Of derived numbers it leaves the sum in the first.
func (p *graphParam) reduce(k *kernel.Set, shares [][]float32) {
	first := p.in(shares[0])
	for _, s := range shares[1:] {
		addUp(k, first, p.in(s))
	}
	if p.offset < 0 {
		return
	}
	dst := p.p.n.grads.data[p.offset:]
	if p.direct() {
		addUp(k, dst[:len(first)], first)
		return
	}
	for r := range p.rows {
		for c, v := range first[r*p.stride:][:p.cols] {
			if p.turned {
				dst[c*p.rows+r] += v
			} else {
				dst[r*p.cols+c] += v
			}
		}
	}
	clear(first)
}
