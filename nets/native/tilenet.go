package native

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// tileNet is a network as it runs on tiles.
type tileNet struct {
	net  *net[float32]
	sums [][]float32 // gradients of each share, zero between updates
}

// share makes the memory of shares' gradients.
func (n *tileNet) share(shares int) {
	for len(n.sums) < shares {
		n.sums = append(n.sums, make([]float32, len(n.net.grads.data)))
	}
}

// tilePass is one kind of network at work on tiles.
type tilePass interface {
	// memory returns what the pass keeps of a tile; brief says that nothing will go backward from it.
	memory(brief bool) *memory
	// forward reads a tile of the inputs and writes that of the output.
	forward(x *context, m *memory, tile int, in []*tensor[float32], out *tensor[float32])
	// backward takes the gradient by the output, adds to the parameters' gradients in sums where that is not nil, and sets the
	// inputs' gradients that are not nil.
	backward(x *context, m *memory, tile int, in []*tensor[float32], out, g *tensor[float32], gradIn []*tensor[float32], sums []float32)
}

// memory is what a pass keeps of a tile between forward and backward, and what its parts need of all agents at once.
type memory struct {
	layers          layersMemory
	x, dx           []float32 // features, and the gradient by them
	q, k, dk        []float32 // of attention
	weights         []float32
	scores, divisor []float32
	relaxed         []float32 // of Gumbel-softmax
}

// keep says how long a pass's memory lives.
type keep uint8

const (
	keepNothing keep = iota // until the forward step of the tile is done
	keepTile                // until the tile has gone through its segment
	keepAll                 // until the next forward pass
)

// tileWork is what a Work keeps where tiles are used.
type tileWork struct {
	pass   tilePass
	x      context      // of operations that run at once
	now    forwardStep  // likewise
	back   backwardStep // likewise
	listed *forwardStep // the last Forward of the update that is being listed
	asked  []bool       // by input: somebody holds its gradient
	stale  []bool       // by input: its gradient was not computed, since nobody had asked for it
}

// newTileWork makes the pass of a net over a batch.
func (t *tiler) newWork(w *work[float32]) *tileWork {
	lanes := lanesOf(w.batch)
	n := w.net
	tw := &tileWork{asked: make([]bool, len(n.ports)), stale: make([]bool, len(n.ports))}
	need := scratchNeed{lanes: lanes, widest: n.widest()}
	switch a := n.arch.(type) {
	case nets.MLP:
		tw.pass = newTileMLP(n, a, lanes)
		need.widest = max(need.widest, totalWidth(a.In))
	case nets.MeanField:
		if need.widest = max(need.widest, a.SeenWidth()); a.Mix == nets.Joint {
			tw.pass = newTileJoint(n, a, lanes)
			break
		}
		f := newTileField(n, a, lanes)
		tw.pass = f
		for _, list := range a.Neighbours {
			need.neighbours = max(need.neighbours, len(list))
		}
	case nets.GumbelSoftmax:
		tw.pass = &tileGumbel{a, t.kernels(lanes), lanes, a.Width()}
	}
	tw.x.scratch = &scratch{}
	tw.x.grow(need)
	t.wants(need)
	tw.now = forwardStep{w: w, keep: keepAll, in: make([]*tensor[float32], len(n.ports))}
	tw.back = backwardStep{of: &tw.now, gradIn: make([]*tensor[float32], len(n.ports))}
	return tw
}

// forwardStep is one call of Forward.
type forwardStep struct {
	w    *work[float32]
	in   []*tensor[float32]
	keep keep
	mem  []*memory // by worker, or by tile with keepAll
}

// allocate makes the memory, once keep is known.
func (f *forwardStep) allocate(workers int) {
	n := workers
	if f.keep == keepAll {
		n = f.w.out.tiling.tiles
	}
	for len(f.mem) < n {
		f.mem = append(f.mem, f.w.tiles.pass.memory(f.keep == keepNothing))
	}
}

func (f *forwardStep) memory(x *context, tile int) *memory {
	if f.keep == keepAll {
		return f.mem[tile]
	}
	return f.mem[x.worker]
}

func (f *forwardStep) tile(x *context, tile int) {
	f.w.tiles.pass.forward(x, f.memory(x, tile), tile, f.in, f.w.out)
}

// backwardStep is one call of Backward. The inputs' gradients that nobody wants are nil.
type backwardStep struct {
	of     *forwardStep
	g      *tensor[float32]
	gradIn []*tensor[float32]
	params bool
}

func (b *backwardStep) tile(x *context, tile int) {
	w := b.of.w
	var sums []float32
	if b.params {
		sums = w.net.tiles.sums[x.share]
	}
	w.tiles.pass.backward(x, b.of.memory(x, tile), tile, b.of.in, w.out, b.g, b.gradIn, sums)
}

// forward runs or lists Forward of a pass whose inputs have been checked.
func (t *tiler) forward(w *work[float32]) {
	if t.capture != nil {
		f := &forwardStep{w: w, in: slices.Clone(w.in)}
		w.tiles.listed = f
		t.capture.passes = append(t.capture.passes, f)
		t.capture.step(w.batch, f)
		return
	}
	f := &w.tiles.now
	copy(f.in, w.in)
	f.allocate(0)
	for tile := range w.out.tiling.tiles {
		f.tile(&w.tiles.x, tile)
	}
}

// backward runs or lists Backward.
func (t *tiler) backward(w *work[float32], g *tensor[float32], gradIn []*tensor[float32], params bool) {
	n := w.net.tiles
	if t.capture != nil {
		if params {
			t.capture.add(n, w.batch)
		}
		b := &backwardStep{of: w.tiles.listed, g: g, gradIn: make([]*tensor[float32], len(w.in)), params: params}
		copy(b.gradIn, gradIn)
		t.capture.step(w.batch, b)
		return
	}
	b := &w.tiles.back
	b.g, b.params = g, params
	clear(b.gradIn)
	copy(b.gradIn, gradIn)
	clear(w.tiles.stale)
	if params {
		n.share(1)
	}
	tiles := w.out.tiling.tiles
	for s := range shareCount(tiles) {
		from, to := share(s, shareCount(tiles), tiles)
		for tile := from; tile < to; tile++ {
			b.tile(&w.tiles.x, tile)
		}
		if params {
			addUp(t.set, n.net.grads.data, n.sums[0])
		}
	}
}

// addUp does dst += sum and clears sum.
func addUp(k *kernel.Set, dst, sum []float32) {
	k.Axpy(1, sum, dst)
	clear(sum)
}
