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

// tilePass is one kind of network at work on tiles. Gather and backward's hand are for networks whose agents see each other; the rest is
// done agent by agent.
type tilePass interface {
	// memory returns what the pass keeps of a tile. Of what lies between layers it keeps that of one agent, or of all.
	memory(k keep) *memory
	// mixes says that gather and hand have something to do.
	mixes() bool
	// gather reads a tile of the inputs of all agents.
	gather(x *context, m *memory, tile int, in []*tensor[float32])
	// forward writes agent i's output.
	forward(x *context, m *memory, tile, i int, in []*tensor[float32], out *tensor[float32])
	// backward takes the gradient by agent i's output and adds to the parameters' gradients in sums where that is not nil. Where agents
	// are apart it sets the inputs' gradients that are not nil. Agents go in order.
	backward(x *context, m *memory, tile, i int, in []*tensor[float32], out, g *tensor[float32], gradIn []*tensor[float32], sums []float32)
	// hand ends the way back of agents that see each other.
	hand(x *context, m *memory, tile int, gradIn []*tensor[float32], sums []float32)
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
	keepNothing keep = iota // until the agent's output is there
	keepAgent               // until the agent has gone back too
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
		f.mem = append(f.mem, f.w.tiles.pass.memory(f.keep))
	}
}

func (f *forwardStep) memory(x *context, tile int) *memory {
	if f.keep == keepAll {
		return f.mem[tile]
	}
	return f.mem[x.worker]
}

func (f *forwardStep) stages() []stage {
	if f.w.tiles.pass.mixes() {
		return []stage{(*gatherStage)(f), (*forwardStage)(f)}
	}
	return []stage{(*forwardStage)(f)}
}

// gatherStage is the part of a forward pass that needs all agents, forwardStage the rest.
type (
	gatherStage  forwardStep
	forwardStage forwardStep
)

func (*gatherStage) apart() int { return 0 }

func (s *gatherStage) run(x *context, tile, _, _ int) {
	f := (*forwardStep)(s)
	f.w.tiles.pass.gather(x, f.memory(x, tile), tile, f.in)
}

func (s *forwardStage) apart() int { return s.w.net.agents }

func (s *forwardStage) run(x *context, tile, from, to int) {
	f := (*forwardStep)(s)
	m := f.memory(x, tile)
	for i := from; i < to; i++ {
		f.w.tiles.pass.forward(x, m, tile, i, f.in, f.w.out)
	}
}

// now runs all stages on a tile.
func (f *forwardStep) tile(x *context, tile int) {
	if f.w.tiles.pass.mixes() {
		(*gatherStage)(f).run(x, tile, 0, 0)
	}
	(*forwardStage)(f).run(x, tile, 0, f.w.net.agents)
}

// backwardStep is one call of Backward. The inputs' gradients that nobody wants are nil.
type backwardStep struct {
	of     *forwardStep
	g      *tensor[float32]
	gradIn []*tensor[float32]
	params bool
}

func (b *backwardStep) stages() []stage {
	if b.of.w.tiles.pass.mixes() {
		return []stage{(*backwardStage)(b), (*handStage)(b)}
	}
	return []stage{(*backwardStage)(b)}
}

// backwardStage is the part of a pass backward that goes agent by agent, handStage what follows for all.
type (
	backwardStage backwardStep
	handStage     backwardStep
)

func (s *backwardStage) apart() int { return s.of.w.net.agents }

func (s *backwardStage) run(x *context, tile, from, to int) {
	w, m := s.of.w, s.of.memory(x, tile)
	sums := (*backwardStep)(s).sums(x)
	for i := from; i < to; i++ {
		w.tiles.pass.backward(x, m, tile, i, s.of.in, w.out, s.g, s.gradIn, sums)
	}
}

func (*handStage) apart() int { return 0 }

func (s *handStage) run(x *context, tile, _, _ int) {
	s.of.w.tiles.pass.hand(x, s.of.memory(x, tile), tile, s.gradIn, (*backwardStep)(s).sums(x))
}

// sums are the share's gradients by the parameters, where those are wanted.
func (b *backwardStep) sums(x *context) []float32 {
	if !b.params {
		return nil
	}
	return b.of.w.net.tiles.sums[x.share]
}

func (b *backwardStep) tile(x *context, tile int) {
	(*backwardStage)(b).run(x, tile, 0, b.of.w.net.agents)
	if b.of.w.tiles.pass.mixes() {
		(*handStage)(b).run(x, tile, 0, 0)
	}
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
