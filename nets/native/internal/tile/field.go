package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// field is [nets.MeanField] on tiles, where agents see mixtures of others: features of all agents, mixtures,
// then the layers over both. A tile's features lie in one piece, so that neighbours are found by their place in
// it:
//
//	[agents][2·own][lanes]: an agent's own features and then its mixture
//	[agents][own][lanes]:   with Others, the features as others see them
type field struct {
	layers
	m       nets.MeanField
	own     int
	at      [][]int32   // of agent i's neighbours: where what it sees of them begins
	seers   [][]seer    // who sees agent j
	edges   []int       // neighbours of all agents before i
	uniform [][]float32 // weights of the mean
	att     *attention
}

// seer is an agent that has j as its neighbour: which agent, and the place of j among all neighbours of all agents.
type seer struct{ agent, edge int }

func newField(n *network, m nets.MeanField, lanes int, need *scratchNeed) *field {
	f := &field{layers: newLayers(n, m.MLP, m.SeenWidth(), lanes), m: m, own: m.OwnWidth(), edges: []int{0}}
	f.seers = make([][]seer, m.Agents)
	for i, list := range m.Neighbours {
		at := make([]int32, len(list))
		for e, j := range list {
			at[e] = int32(f.start(j))
			if m.Others && j != i {
				at[e] = int32(f.startSeen(j))
			}
			f.seers[j] = append(f.seers[j], seer{i, f.edges[i] + e})
		}
		f.at, f.edges = append(f.at, at), append(f.edges, f.edges[i]+len(list))
		need.neighbours = max(need.neighbours, len(list))
	}
	if m.Mix == nets.Attention {
		f.att = newAttention(n, f)
		f.att.share(need, n.b.options.Alone)
		return f
	}
	for _, list := range m.Neighbours {
		w := make([]float32, len(list)*lanes)
		for e := range w {
			w[e] = 1 / float32(len(list))
		}
		f.uniform = append(f.uniform, w)
	}
	return f
}

// start is where agent j's features begin, startSeen where those that others see do.
func (f *field) start(j int) int { return 2 * f.own * f.lanes * j }
func (f *field) startSeen(j int) int {
	if !f.m.Others {
		return f.start(j)
	}
	return (2*f.agents + j) * f.own * f.lanes
}

// block returns n rows from a place on.
func (f *field) block(v []float32, at, rows int) []float32 { return v[at:][:rows*f.lanes] }

// mixture is where agent i's lies among the features.
func (f *field) mixture(v []float32, i int) []float32 {
	return f.block(v, f.start(i)+f.own*f.lanes, f.own)
}

// of returns agent i's rows of values that are stored by neighbour.
func (f *field) of(v []float32, i int) []float32 {
	return v[f.edges[i]*f.lanes : f.edges[i+1]*f.lanes]
}

func (f *field) stack() *layers { return &f.layers }

func (f *field) memory() *memory {
	n := 2 * f.agents * f.own * f.lanes
	if f.m.Others {
		n += f.agents * f.own * f.lanes
	}
	m := &memory{x: make([]float32, n), dx: make([]float32, n)}
	if f.att != nil {
		f.att.memory(m)
	}
	return m
}

// weights are agent i's over its neighbours.
func (f *field) weights(m *memory, i int) []float32 {
	if f.att == nil {
		return f.uniform[i]
	}
	return f.of(m.weights, i)
}

// weight is that of one neighbour among all agents'.
func (f *field) weight(m *memory, s seer) []float32 {
	return f.weights(m, s.agent)[(s.edge-f.edges[s.agent])*f.lanes:][:f.lanes]
}

// together says whether some agents attend to their neighbours together.
func (f *field) together() bool { return f.att != nil && f.att.seen != nil }

// forward gathers all agents' features, mixes them, and takes both through the layers.
func (f *field) forward(s *forwardStep) []stage {
	stages := []stage{{agents: f.agents, run: func(x *context, tile, from, to int) {
		m, _ := s.at(x, tile)
		for i := from; i < to; i++ {
			gatherRows(f.m, f.lanes, m.x[f.start(i):], m.x[f.startSeen(i):], tile, i, s.in)
			if f.att != nil {
				f.att.project(x, m, i)
			}
		}
	}}}
	if f.together() {
		stages = append(stages, stage{agents: f.agents, barrier: true, ranged: true,
			run: func(x *context, tile, from, to int) {
				m, _ := s.at(x, tile)
				f.att.attend(x, m, from, to)
			}})
	}
	return append(stages, stage{agents: f.agents, barrier: !f.together(), fills: s,
		run: func(x *context, tile, from, to int) {
			m, l := s.at(x, tile)
			for i := from; i < to; i++ {
				if !f.together() {
					if f.att != nil {
						f.att.weigh(m, i)
					}
					f.mix(m, i)
				}
				f.layers.forward(x, l, i, m.x[f.start(i):], s.p.out.of(tile, i))
			}
		}})
}

// gatherRows copies a tile of agent i's inputs to its features, and with Others to those that others see.
func gatherRows(m nets.MeanField, lanes int, own, seen []float32, tile, i int, in []*Tensor) {
	ports := len(m.In)
	joinRows(own, tile, i, in[:ports])
	if m.Others {
		joinRows(seen, tile, i, in[:ports-1])
		joinRows(seen[(m.OwnWidth()-m.In[ports-1].Width)*lanes:], tile, i, in[ports:])
	}
}

// mix sets agent i's mixture.
func (f *field) mix(m *memory, i int) {
	f.k.Mix(f.mixture(m.x, i), f.weights(m, i), m.x, f.at[i], f.own, f.lanes)
}

// wants says which gradients w.r.t. features are asked for: those from a row on, of agents themselves and as seen
// by others. From the end on is none.
type wants struct{ own, seen int }

func (f *field) wants(gradIn []*Tensor) wants {
	w := wants{f.own, f.own}
	at := 0
	for p, port := range f.m.In {
		if gradIn[p] != nil {
			w.own = min(w.own, at)
			if p < len(f.m.In)-1 || !f.m.Others {
				w.seen = min(w.seen, at)
			}
		}
		at += port.Width
	}
	if f.m.Others && gradIn[len(f.m.In)] != nil {
		w.seen = min(w.seen, f.own-f.m.In[len(f.m.In)-1].Width)
	}
	return w
}

// backward goes back through the layers, the mixtures, and the features of those that were seen.
func (f *field) backward(b *backwardStep) []stage {
	inputs := b.wanted() || f.att != nil && b.params // whether gradients w.r.t. features are needed
	w := f.wants(b.gradIn)
	again := b.of.back // agents may still read what the step back before left of others
	b.of.back = true
	stages := []stage{{agents: f.agents, barrier: again, needs: b.of, run: func(x *context, tile, from, to int) {
		m, l := b.of.at(x, tile)
		sums := b.begin(x, tile, from, to)
		for i := from; i < to; i++ {
			var dx []float32
			if inputs {
				dx = f.block(m.dx, f.start(i)+w.own*f.lanes, 2*f.own-w.own)
			}
			f.layers.backward(x, l, i, m.x[f.start(i):], b.of.p.out.of(tile, i), b.grad(tile, i), sums, dx, w.own, kernel.Zero)
			if f.att != nil && inputs && !f.together() {
				f.att.backward(x, m, i, w, sums)
			}
		}
	}}}
	if !inputs {
		return stages
	}
	if f.together() {
		stages = append(stages,
			stage{agents: f.agents, ranged: true, run: func(x *context, tile, from, to int) {
				m, _ := b.of.at(x, tile)
				f.att.attendBack(x, m, from, to, w, b.sums(x))
			}},
			stage{agents: f.agents, barrier: true, ranged: true, run: func(x *context, tile, from, to int) {
				m, _ := b.of.at(x, tile)
				f.att.keysBack(x, m, from, to, w, b.sums(x))
			}})
	}
	return append(stages, stage{agents: f.agents, barrier: !f.together(), run: func(x *context, tile, from, to int) {
		m, _ := b.of.at(x, tile)
		for i := from; i < to; i++ {
			f.inputsBack(x, m, tile, i, b, w)
		}
	}})
}

// inputsBack sets the wanted gradients w.r.t. agent i's inputs, from those of all agents that see it.
func (f *field) inputsBack(x *context, m *memory, tile, i int, b *backwardStep, w wants) {
	if !f.together() {
		f.clearSeen(m, i)
		if f.att != nil {
			f.att.keyBack(x, m, i, w, b.sums(x))
		}
	}
	if !b.wanted() {
		return
	}
	for _, s := range f.seers[i] {
		at, from := f.startSeen(i), w.seen
		if s.agent == i {
			at, from = f.start(i), w.own
		}
		f.k.Scatter(m.dx[from*f.lanes:], x.place(at), f.weight(m, s), f.mixture(m.dx, s.agent)[from*f.lanes:],
			f.own-from, f.lanes)
	}
	inputRows(f.k, m.dx[f.start(i):], m.dx[f.startSeen(i):], tile, i, b.gradIn, f.m, f.lanes)
}

// clearSeen sets the gradient w.r.t. agent i's features as others see them to 0, where they lie apart.
func (f *field) clearSeen(m *memory, i int) {
	if f.m.Others {
		clear(f.block(m.dx, f.startSeen(i), f.own))
	}
}

// inputRows copies agent i's gradients w.r.t. its features, as its own and as seen by others, to the wanted inputs.
// Inputs that are the same for the agent and for others get both.
func inputRows(k *kernel.Set, own, seen []float32, tile, i int, gradIn []*Tensor, m nets.MeanField, lanes int) {
	last := len(m.In) - 1
	at := 0
	for p, port := range m.In {
		n := port.Width * lanes
		if gradIn[p] != nil {
			dst := gradIn[p].of(tile, i)
			copy(dst, own[at:at+n])
			if m.Others && p < last {
				k.Axpy(1, seen[at:at+n], dst)
			}
		}
		if m.Others && p == last && gradIn[p+1] != nil {
			copy(gradIn[p+1].of(tile, i), seen[at:at+n])
		}
		at += n
	}
}
