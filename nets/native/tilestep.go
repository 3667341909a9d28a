package native

// forwardStep is one call of Forward.
type forwardStep struct {
	w      *work[float32]
	in     []*tensor[float32]
	keep   keep
	shared bool            // between workers: they share a tile's agents
	mem    []*memory       // by tile with keepAll, else one or by worker
	layers []*layersMemory // likewise, but by worker while one agent's is enough
}

// allocate makes the memory, once keep is known.
func (f *forwardStep) allocate(workers int) {
	if f.mem != nil {
		return
	}
	f.shared = byAgent(f.w.out.tiling)
	n := workers
	switch {
	case f.keep == keepAll:
		n = f.w.out.tiles
	case f.shared:
		n = 1
	}
	pass := f.w.tiles.pass
	for range n {
		f.mem = append(f.mem, pass.memory())
	}
	l := pass.stack()
	if l == nil {
		return
	}
	if f.keep <= keepAgent {
		n = workers
	}
	for range n {
		f.layers = append(f.layers, l.memory(f.keep))
	}
}

// at returns the memory of a tile for a worker.
func (f *forwardStep) at(x *context, tile int) (m *memory, l *layersMemory) {
	i := x.worker
	switch {
	case f.keep == keepAll:
		i = tile
	case f.shared:
		i = 0
	}
	m = f.mem[i]
	if f.layers == nil {
		return m, nil
	}
	if f.keep <= keepAgent {
		i = x.worker
	}
	return m, f.layers[i]
}

func (f *forwardStep) stages() []stage {
	if together(f.w.tiles.pass) {
		return []stage{(*gatherStage)(f), (*attendStage)(f), (*forwardStage)(f)}
	}
	if f.w.tiles.pass.mixes() {
		return []stage{(*gatherStage)(f), (*forwardStage)(f)}
	}
	return []stage{(*forwardStage)(f)}
}

// gatherStage is the part of a forward pass that others need, forwardStage the rest.
type (
	gatherStage  forwardStep
	forwardStage forwardStep
)

func (s *gatherStage) apart() int { return s.w.net.agents }
func (*gatherStage) fence() bool  { return false }

func (s *gatherStage) run(x *context, tile, from, to int) {
	m, _ := (*forwardStep)(s).at(x, tile)
	for i := from; i < to; i++ {
		s.w.tiles.pass.gather(x, m, tile, i, s.in)
	}
}

func (s *forwardStage) apart() int {
	if s.w.tiles.pass.apart(nil) {
		return s.w.net.agents
	}
	return 0
}

func (s *forwardStage) fence() bool { return s.w.tiles.pass.mixes() && !together(s.w.tiles.pass) }

func (s *forwardStage) run(x *context, tile, from, to int) {
	m, l := (*forwardStep)(s).at(x, tile)
	for i := from; i < to; i++ {
		s.w.tiles.pass.forward(x, m, l, tile, i, s.in, s.w.out)
	}
}

// backwardStep is one call of Backward. The inputs' gradients that nobody wants are nil.
type backwardStep struct {
	of     *forwardStep
	g      *tensor[float32]
	gradIn []*tensor[float32]
	params bool
	fresh  bool // an agent's gradients by the parameters are set to zero before its first tile
}

func (b *backwardStep) stages() []stage {
	if hands := b.of.w.tiles.pass.hands(b); hands && together(b.of.w.tiles.pass) {
		return []stage{(*backwardStage)(b), (*attendBackStage)(b), (*handKeysStage)(b), (*handStage)(b)}
	} else if hands {
		return []stage{(*backwardStage)(b), (*handStage)(b)}
	}
	return []stage{(*backwardStage)(b)}
}

// backwardStage is the part of a pass backward that an agent does alone, handStage what follows from the others.
type (
	backwardStage backwardStep
	handStage     backwardStep
)

func (s *backwardStage) apart() int {
	if s.of.w.tiles.pass.apart((*backwardStep)(s)) {
		return s.of.w.net.agents
	}
	return 0
}

func (*backwardStage) fence() bool { return false }

func (s *backwardStage) run(x *context, tile, from, to int) {
	b := (*backwardStep)(s)
	m, l := s.of.at(x, tile)
	sums := b.sums(x)
	for i := from; i < to; i++ {
		if n := s.of.w.net; b.fresh && tile == 0 {
			clear(n.grads.data[i*n.size:][:n.size])
		}
		s.of.w.tiles.pass.backward(x, m, l, tile, i, b, sums)
	}
}

func (s *handStage) apart() int  { return s.of.w.net.agents }
func (s *handStage) fence() bool { return !together(s.of.w.tiles.pass) }

func (s *handStage) run(x *context, tile, from, to int) {
	b := (*backwardStep)(s)
	m, _ := s.of.at(x, tile)
	sums := b.sums(x)
	for i := from; i < to; i++ {
		s.of.w.tiles.pass.hand(x, m, tile, i, b, sums)
	}
}

// sums are where a part adds gradients by the parameters, nil where those are not wanted.
func (b *backwardStep) sums(x *context) []float32 {
	n := b.of.w.net
	switch {
	case !b.params:
		return nil
	case b.of.shared && n.groups == n.agents:
		return n.grads.data
	}
	return n.tiles.sums[x.share]
}

// wanted says whether any input's gradient is.
func (b *backwardStep) wanted() bool {
	for _, t := range b.gradIn {
		if t != nil {
			return true
		}
	}
	return false
}
