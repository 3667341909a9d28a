package tile

import (
	"slices"

	"github.com/stoker-rl/stoker/nets/internal/core"
)

// pass implements [core.Pass].
type pass struct {
	net   *network
	batch int
	out   *Tensor
	model model
	ctx   context // outside recorded updates

	ran      bool        // Forward has, outside recorded updates
	rows     *sampleRows // how it does so with a few samples, or nil
	spread   bool        // what it left is in tiles
	first    forwardStep // of forward
	forward  *segment    // outside recorded updates
	backward [4]*segment // the same, by whether parameters' and inputs' gradients are wanted

	captured   *forwardStep // the last Forward of the update that is being captured
	capturedIn *program     // that update
	wanted     []bool       // by input: somebody holds its gradient
	omitted    []bool       // by input: its gradient was not computed, since nobody had asked for it
}

// NewPass implements [core.Network].
func (n *network) NewPass(batch int, out *Tensor) core.Pass[*Tensor] {
	ports := len(n.v.Arch.Inputs())
	p := &pass{net: n, batch: batch, out: out, wanted: make([]bool, ports), omitted: make([]bool, ports)}
	lanes := lanesOf(n.v.Agents, batch)
	need := scratchNeed{lanes: lanes, widest: n.v.Widest()}
	p.model = n.newModel(lanes, &need)
	p.ctx.scratch = &scratch{}
	p.ctx.grow(need)
	n.b.require(need)
	p.first = forwardStep{p: p, lifetime: untilForward, in: make([]*Tensor, ports)}
	if !n.b.options.Tiles {
		p.rows = newSampleRows(p.model, batch)
	}
	p.forward = p.alone(&p.first)
	return p
}

// alone is a segment of one step, which runs at once on the goroutine that calls it.
func (p *pass) alone(st step) *segment {
	s := &segment{b: p.net.b, steps: []step{st}, ctx: []context{p.ctx}}
	s.takes(p.net.v.Agents, p.batch)
	for _, g := range st.stages() {
		s.stage(g)
	}
	return s
}

// Ready implements [core.Pass]. What a captured update leaves between its layers is gone when it has run, and
// what was computed before it is not part of it.
func (p *pass) Ready() bool {
	if c := p.net.b.program; c != nil {
		return p.capturedIn == c
	}
	return p.ran
}

// Want implements [core.Pass].
func (p *pass) Want(i int) bool {
	p.wanted[i] = true
	return !p.omitted[i]
}

// Forward implements [core.Pass].
func (p *pass) Forward(in []*Tensor) {
	if c := p.net.b.program; c != nil {
		f := &forwardStep{p: p, in: slices.Clone(in)}
		p.captured, p.capturedIn, p.ran = f, c, false
		c.passes = append(c.passes, f)
		c.step(p.net.v.Agents, p.batch, f)
		return
	}
	copy(p.first.in, in)
	p.ran = true
	if p.rows != nil {
		p.rows.forward(&p.ctx, in[0], p.out)
		p.spread = false
		return
	}
	p.first.allocate(1)
	p.forward.run(crew{1, 0})
}

// Backward implements [core.Pass].
func (p *pass) Backward(g *Tensor, gradIn []*Tensor, params bool) {
	if c := p.net.b.program; c != nil {
		if params {
			c.add(p.net, p.batch)
		}
		c.step(p.net.v.Agents, p.batch, p.back(p.captured, g, gradIn, params))
		return
	}
	if p.rows != nil && !p.spread {
		p.first.allocate(1)
		p.rows.spread(p.first.layers[0])
		p.spread = true
	}
	s := p.alongside(g, gradIn, params)
	s.run(crew{1, 0})
	for _, o := range s.after {
		for i := range o.parts() {
			o.Part(i, 0)
		}
	}
}

// back is a step backward from f.
func (p *pass) back(f *forwardStep, g *Tensor, gradIn []*Tensor, params bool) *backwardStep {
	b := &backwardStep{of: f, g: g, gradIn: make([]*Tensor, len(p.wanted)), params: params}
	copy(b.gradIn, gradIn)
	return b
}

// alongside returns the segment of a pass backward outside recorded updates, made at its first use.
func (p *pass) alongside(g *Tensor, gradIn []*Tensor, params bool) *segment {
	which := 0
	if params {
		which = 1
	}
	if gradIn != nil {
		which |= 2
		clear(p.omitted)
	}
	s := p.backward[which]
	if s == nil {
		s = p.alone(p.back(&p.first, g, gradIn, params))
		if params {
			s.adds = []*addition{{p.net, false, true}}
		}
		s.seal()
		p.backward[which] = s
	}
	s.steps[0].(*backwardStep).g = g
	return s
}
