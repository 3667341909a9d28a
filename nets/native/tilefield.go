package native

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// tileField is [nets.MeanField] on tiles, where agents see mixtures of others: features of all agents, mixtures, then the layers over
// both. A tile's features lie in one piece, so that neighbours are found by their place in it:
//
//	[agents][2·own][lanes], an agent's own features and then its mixture; with Others followed by [agents][own][lanes] as others see them
type tileField struct {
	layers
	m       nets.MeanField
	own     int
	at      [][]int32 // of agent i's neighbours: where what it sees of them begins
	uniform [][]float32
	att     *tileAttention // nil for the mean
}

func newTileField(n *net[float32], m nets.MeanField, lanes int) *tileField {
	f := &tileField{layers: newLayers(n, m.MLP, m.SeenWidth(), lanes), m: m, own: m.OwnWidth()}
	for i, list := range m.Neighbours {
		at := make([]int32, len(list))
		for e, j := range list {
			at[e] = int32(f.start(j))
			if m.Others && j != i {
				at[e] = int32(f.startSeen(j))
			}
		}
		f.at = append(f.at, at)
	}
	if m.Mix == nets.Attention {
		f.att = newTileAttention(n, f)
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
func (f *tileField) start(j int) int { return 2 * f.own * f.lanes * j }
func (f *tileField) startSeen(j int) int {
	if !f.m.Others {
		return f.start(j)
	}
	return (2*f.agents + j) * f.own * f.lanes
}

func (f *tileField) size() int {
	n := 2 * f.agents * f.own * f.lanes
	if f.m.Others {
		n += f.agents * f.own * f.lanes
	}
	return n
}

// block returns n rows from a place on.
func (f *tileField) block(v []float32, at, rows int) []float32 { return v[at:][:rows*f.lanes] }

func (f *tileField) memory(k keep) *memory {
	m := &memory{layers: f.layers.memory(k), x: make([]float32, f.size())}
	if f.att != nil {
		f.att.memory(m, k == keepNothing)
	}
	return m
}

// weights are agent i's over its neighbours.
func (f *tileField) weights(m *memory, i int) []float32 {
	if f.att == nil {
		return f.uniform[i]
	}
	return f.att.of(m.weights, i)
}

func (*tileField) mixes() bool { return true }

func (f *tileField) gather(x *context, m *memory, tile int, in []*tensor[float32]) {
	ports := len(f.m.In)
	for i := range f.agents {
		joinRows(m.x[f.start(i):], tile, i, in[:ports])
		if f.m.Others {
			seen := m.x[f.startSeen(i):]
			joinRows(seen, tile, i, in[:ports-1])
			joinRows(seen[(f.own-f.m.In[ports-1].Width)*f.lanes:], tile, i, in[ports:])
		}
	}
	if f.att != nil {
		f.att.forward(x, m)
	}
}

func (f *tileField) forward(x *context, m *memory, tile, i int, _ []*tensor[float32], out *tensor[float32]) {
	mixture := f.block(m.x, f.start(i)+f.own*f.lanes, f.own)
	f.k.Mix(mixture, f.weights(m, i), m.x, f.at[i], f.own, f.lanes)
	f.layers.forward(x, &m.layers, i, m.x[f.start(i):], out.of(tile, i))
}

// wants says which gradients by features are asked for: those from a row on, of agents themselves and as seen by others. From the end
// on is none.
type wants struct{ own, seen int }

func (f *tileField) wants(gradIn []*tensor[float32]) wants {
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

// back says what goes back from the layers: nothing, the gradients by the mixtures, or those by wanted features too.
func (f *tileField) back(gradIn []*tensor[float32], sums []float32) (w wants, inputs, mixes bool) {
	w = f.wants(gradIn)
	inputs = w.own < f.own || w.seen < f.own
	return w, inputs, inputs || f.att != nil && sums != nil
}

func (f *tileField) backward(x *context, m *memory, tile, i int, _ []*tensor[float32], out, g *tensor[float32], gradIn []*tensor[float32], sums []float32) {
	w, _, mixes := f.back(gradIn, sums)
	var dx []float32
	if mixes {
		if m.dx == nil {
			m.dx = make([]float32, len(m.x))
		}
		dx = f.block(m.dx, f.start(i)+w.own*f.lanes, 2*f.own-w.own)
	}
	f.layers.backward(x, &m.layers, i, m.x[f.start(i):], out.of(tile, i), g.of(tile, i), sums, dx, w.own, kernel.Zero)
}

func (f *tileField) hand(x *context, m *memory, tile int, gradIn []*tensor[float32], sums []float32) {
	w, inputs, mixes := f.back(gradIn, sums)
	if !mixes {
		return
	}
	if f.m.Others {
		clear(m.dx[f.startSeen(0):])
	}
	if f.att != nil {
		f.att.backward(x, m, w, sums)
	}
	if !inputs {
		return
	}
	for i := range f.agents {
		f.scatter(m, i, w)
	}
	for i := range f.agents {
		handRows(f.k, m.dx[f.start(i):], m.dx[f.startSeen(i):], tile, i, gradIn, f.m, f.lanes)
	}
}

// scatter gives agent i's neighbours their part of the gradient by its mixture.
func (f *tileField) scatter(m *memory, i int, w wants) {
	mixture, weights := m.dx[f.start(i)+f.own*f.lanes:], f.weights(m, i)
	if !f.m.Others {
		f.k.Scatter(m.dx[w.own*f.lanes:], f.at[i], weights, mixture[w.own*f.lanes:], f.own-w.own, f.lanes)
		return
	}
	for e, j := range f.m.Neighbours[i] {
		from := w.seen
		if j == i {
			from = w.own
		}
		f.k.Scatter(m.dx[from*f.lanes:], f.at[i][e:e+1], weights[e*f.lanes:], mixture[from*f.lanes:], f.own-from, f.lanes)
	}
}

// handRows copies agent i's gradients by its features, as its own and as seen by others, to the wanted inputs. Inputs that agents and
// others see alike get both.
func handRows(k *kernel.Set, own, seen []float32, tile, i int, gradIn []*tensor[float32], m nets.MeanField, lanes int) {
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
