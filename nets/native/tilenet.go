package native

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// tileNet is a network as it runs on tiles.
type tileNet struct {
	net  *net[float32]
	sums [][]float32 // gradients of each share, zero between updates
}

// direct says that a segment's parts add to the gradients themselves: they share agents, and each has parameters of its own.
func (n *tileNet) direct(s *segment) bool { return s.byAgent && n.net.groups == n.net.agents }

// share makes the memory of shares' gradients.
func (n *tileNet) share(shares int) {
	for len(n.sums) < shares {
		n.sums = append(n.sums, make([]float32, len(n.net.grads.data)))
	}
}

// tilePass is one kind of network at work on tiles. Each method but memory does one agent's part. Agents see each other's features between gather and
// forward, and each other's gradients between backward and hand.
type tilePass interface {
	// memory returns what the pass keeps of all agents in a tile.
	memory() *memory
	// stack is the network's layers.
	stack() *layers
	// gather reads a tile of agent i's inputs.
	gather(x *context, m *memory, tile, i int, in []*tensor[float32])
	// forward writes agent i's output.
	forward(x *context, m *memory, l *layersMemory, tile, i int, in []*tensor[float32], out *tensor[float32])
	// backward takes the gradient by agent i's output, adds to the parameters' gradients in sums where that is not nil and leaves what hand needs.
	backward(x *context, m *memory, l *layersMemory, tile, i int, b *backwardStep, sums []float32)
	// hand sets the gradients by agent i's inputs that are not nil, and adds to sums what the other agents' gradients leave.
	hand(x *context, m *memory, tile, i int, b *backwardStep, sums []float32)
	// apart says whether agents can go forward, and backward for these gradients, side by side; mixes whether they see each other at all.
	apart(b *backwardStep) bool
	mixes() bool
	// hands says whether hand has anything to do.
	hands(b *backwardStep) bool
}

// memory is what a pass keeps of all agents in a tile.
type memory struct {
	x, dx         []float32 // features, and the gradient by them
	q, k          []float32 // of attention
	weights       []float32 // of neighbours, by agent
	rho           []float32 // gradients by the scores, by the agent that is seen
	raw, divisors []float32 // of squared scores
	relaxed       []float32 // of Gumbel-softmax
}

// keep says how long what lies between a pass's layers lives.
type keep uint8

const (
	keepNothing keep = iota // until the agent's output is there
	keepAgent               // until the agent has gone back too
	keepTile                // until the tile has gone through its segment
	keepAll                 // until the next forward pass
)

// tileWork is what a Work keeps where tiles are used.
type tileWork struct {
	pass     tilePass
	now      *segment     // a forward pass outside recorded updates
	back     [4]*segment  // backward passes, by Wrt
	listed   *forwardStep // the last Forward of the update that is being listed
	listedIn *program     // that update
	asked    []bool       // by input: somebody holds its gradient
	stale    []bool       // by input: its gradient was not computed, since nobody had asked for it
	first    *forwardStep // of now
	ctx      context
}

// newWork makes the pass of a net over a batch.
func (t *tiler) newWork(w *work[float32]) {
	n := w.net
	lanes := lanesOf(n.agents, w.batch)
	tw := &tileWork{asked: make([]bool, len(n.ports)), stale: make([]bool, len(n.ports))}
	w.tiles = tw
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
		tw.pass = newTileField(n, a, lanes)
		for _, list := range a.Neighbours {
			need.neighbours = max(need.neighbours, len(list))
		}
		tw.pass.(*tileField).together(&need)
	case nets.GumbelSoftmax:
		tw.pass = &tileGumbel{g: a, k: t.kernels(lanes), lanes: lanes, width: a.Width()}
	}
	tw.ctx.scratch = &scratch{}
	tw.ctx.grow(need)
	t.wants(need)
	tw.first = &forwardStep{w: w, keep: keepAll, in: make([]*tensor[float32], len(n.ports))}
	tw.now = t.alone(tw, w, tw.first)
}

// alone is a segment of one step, which runs at once on the goroutine that calls it.
func (t *tiler) alone(tw *tileWork, w *work[float32], st step) *segment {
	s := &segment{t: t, steps: []step{st}, ctx: []context{tw.ctx}}
	s.takes(w.net.agents, w.batch)
	for _, g := range st.stages() {
		s.stage(g)
	}
	return s
}

// forward runs or lists Forward of a pass whose inputs have been checked.
func (t *tiler) forward(w *work[float32]) {
	tw := w.tiles
	if t.capture != nil {
		f := &forwardStep{w: w, in: slices.Clone(w.in)}
		tw.listed, tw.listedIn = f, t.capture
		t.capture.passes = append(t.capture.passes, f)
		t.capture.step(w.net.agents, w.batch, f)
		return
	}
	copy(tw.first.in, w.in)
	tw.first.allocate(1)
	tw.now.run(1)
}

// backward runs or lists Backward.
func (t *tiler) backward(w *work[float32], g *tensor[float32], gradIn []*tensor[float32], wrt nets.Wrt) {
	tw, params := w.tiles, wrt&nets.Params != 0
	if t.capture != nil {
		if params {
			t.capture.add(w.net.tiles, w.batch)
		}
		b := &backwardStep{of: tw.listed, g: g, gradIn: make([]*tensor[float32], len(w.in)), params: params}
		copy(b.gradIn, gradIn)
		t.capture.step(w.net.agents, w.batch, b)
		return
	}
	s := tw.back[wrt]
	if s == nil {
		b := &backwardStep{of: tw.first, gradIn: make([]*tensor[float32], len(w.in)), params: params}
		copy(b.gradIn, gradIn)
		s = t.alone(tw, w, b)
		if params {
			s.adds = []*addition{{w.net.tiles, false, true}}
		}
		s.seal()
		tw.back[wrt] = s
	}
	s.steps[0].(*backwardStep).g = g
	clear(tw.stale)
	s.run(1)
	for _, o := range s.after {
		for i := range o.parts() {
			o.part(i, 0)
		}
	}
}
