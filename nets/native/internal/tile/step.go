package tile

import "slices"

// operation is a part of a program. reads and writes say what it does with a tensor of parameters or gradients;
// where in doubt, true.
type operation interface {
	reads(t *Tensor) bool
	writes(t *Tensor) bool
}

// step is an operation that runs tile by tile, in stages: no two tiles touch the same numbers.
type step interface {
	operation
	stages() []stage
}

// stage is a part of a step.
type stage struct {
	// run does it on a tile for the agents [from, to).
	run func(x *context, tile, from, to int)
	// agents is the number of agents where each can go alone, writing nothing that another touches; 0 where one
	// goroutine does all.
	agents int
	// barrier says that the stage reads what the one before it did for other agents.
	barrier bool
	// ranged says that the stage does a range of agents in one go, and that those before and after it wait for
	// each other.
	ranged bool
	// fills and needs are the forward pass whose activations the stage writes, and the one whose activations it reads.
	fills, needs *forwardStep
}

// forwardStep is one call of Forward.
type forwardStep struct {
	p        *pass
	in       []*Tensor
	lifetime lifetime
	shared   bool            // between workers: they divide a tile's agents
	mem      []*memory       // by tile with untilForward, else one or by worker
	layers   []*layersMemory // likewise, but by worker while one agent's is enough
	back     bool            // a step goes back from it
}

func (f *forwardStep) stages() []stage { return f.p.model.forward(f) }

func (f *forwardStep) reads(t *Tensor) bool {
	return f.p.net.v.Params == t || slices.Contains(f.in, t)
}

func (f *forwardStep) writes(t *Tensor) bool { return f.p.out == t }

// allocate makes the memory, once the lifetime is known.
func (f *forwardStep) allocate(workers int) {
	if f.mem != nil {
		return
	}
	f.shared = byAgent(f.p.out.tiling)
	n := workers
	switch {
	case f.lifetime == untilForward:
		n = f.p.out.tiles
	case f.shared:
		n = 1
	}
	for range n {
		f.mem = append(f.mem, f.p.model.memory())
	}
	l := f.p.model.stack()
	if l == nil {
		return
	}
	if f.lifetime <= untilAgent {
		n = workers
	}
	for range n {
		f.layers = append(f.layers, l.memory(f.lifetime))
	}
}

// at returns the memory of a tile for a worker.
func (f *forwardStep) at(x *context, tile int) (m *memory, l *layersMemory) {
	i := x.worker
	switch {
	case f.lifetime == untilForward:
		i = tile
	case f.shared:
		i = 0
	}
	m = f.mem[i]
	if f.layers == nil {
		return m, nil
	}
	if f.lifetime <= untilAgent {
		i = x.worker
	}
	return m, f.layers[i]
}

// backwardStep is one call of Backward. The inputs' gradients that nobody wants are nil.
type backwardStep struct {
	of     *forwardStep
	g      *Tensor
	gradIn []*Tensor
	params bool
	fresh  bool // an agent's gradients w.r.t. the parameters are set to zero before its first tile
}

func (b *backwardStep) stages() []stage { return b.of.p.model.backward(b) }

func (b *backwardStep) reads(t *Tensor) bool {
	return b.of.p.net.v.Params == t || slices.Contains(b.of.in, t) || b.g == t
}

func (b *backwardStep) writes(t *Tensor) bool {
	return slices.Contains(b.gradIn, t) || b.params && b.of.p.net.v.Grads == t
}

// omit leaves out the inputs' gradients that nobody has asked for.
func (b *backwardStep) omit() {
	p := b.of.p
	for i := range b.gradIn {
		if b.gradIn[i] != nil && !p.wanted[i] {
			b.gradIn[i], p.omitted[i] = nil, true
		}
	}
}

// begin returns where agents from to to add gradients w.r.t. the parameters in a tile, nil where those are not
// wanted. Fresh ones it sets to zero.
func (b *backwardStep) begin(x *context, tile, from, to int) []float32 {
	n := b.of.p.net
	if b.fresh && tile == 0 {
		clear(n.grads[from*n.v.Size : to*n.v.Size])
	}
	return b.sums(x)
}

// grad is the gradient w.r.t. agent i's output in a tile, with 0 in the padding, where operations may have left others.
func (b *backwardStep) grad(tile, i int) []float32 {
	g, valid := b.g.of(tile, i), b.g.valid(tile)
	for f := 0; valid < b.g.lanes && f < len(g); f += b.g.lanes {
		clear(g[f+valid : f+b.g.lanes])
	}
	return g
}

// sums are where a shard adds gradients w.r.t. the parameters, nil where those are not wanted.
func (b *backwardStep) sums(x *context) []float32 {
	n := b.of.p.net
	switch {
	case !b.params:
		return nil
	case b.of.shared && n.v.Groups == n.v.Agents:
		return n.grads
	}
	return n.shards[x.shard]
}

// wanted says whether any input's gradient is.
func (b *backwardStep) wanted() bool {
	return slices.ContainsFunc(b.gradIn, func(t *Tensor) bool { return t != nil })
}
