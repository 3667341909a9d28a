package native

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// tileJoint is [nets.MeanField] where every agent sees all: the layers' input is [agents·own][lanes], one for all agents. With Others
// it holds what others see, and agent i's own place is exchanged for its features while i is at work.
type tileJoint struct {
	layers
	m   nets.MeanField
	own int
}

func newTileJoint(n *net[float32], m nets.MeanField, lanes int) *tileJoint {
	return &tileJoint{newLayers(n, m.MLP, m.SeenWidth(), lanes), m, m.OwnWidth()}
}

// size is that of all agents' features.
func (j *tileJoint) size() int { return j.agents * j.own * j.lanes }

func (j *tileJoint) stack() *layers { return &j.layers }

func (j *tileJoint) memory() *memory {
	n := j.size()
	if j.m.Others {
		n *= 2 // what others see first
	}
	return &memory{x: make([]float32, n)}
}

// at is agent i's place in all features.
func (j *tileJoint) at(v []float32, i int) []float32 { return v[i*j.own*j.lanes:][:j.own*j.lanes] }

// mine returns agent i's features where they are kept apart.
func (j *tileJoint) mine(v []float32, i int) []float32 {
	if !j.m.Others {
		return j.at(v, i)
	}
	return j.at(v[j.size():], i)
}

// exchange swaps what others see of agent i and its own features, or the gradients by them; twice, it changes nothing.
func (j *tileJoint) exchange(v []float32, i int) {
	if !j.m.Others || v == nil {
		return
	}
	a, b := j.at(v, i), j.mine(v, i)
	for n := range a {
		a[n], b[n] = b[n], a[n]
	}
}

func (*tileJoint) mixes() bool                { return true }
func (*tileJoint) hands(b *backwardStep) bool { return b.wanted() }

// apart: with Others agents take turns in the one input, and all agents' gradients by it are summed in one place.
func (j *tileJoint) apart(b *backwardStep) bool { return !j.m.Others && (b == nil || !b.wanted()) }

func (j *tileJoint) gather(_ *context, m *memory, tile, i int, in []*tensor[float32]) {
	ports := len(j.m.In)
	joinRows(j.mine(m.x, i), tile, i, in[:ports])
	if j.m.Others {
		seen := j.at(m.x, i)
		joinRows(seen, tile, i, in[:ports-1])
		joinRows(seen[(j.own-j.m.In[ports-1].Width)*j.lanes:], tile, i, in[ports:])
	}
}

func (j *tileJoint) forward(x *context, m *memory, l *layersMemory, tile, i int, _ []*tensor[float32], out *tensor[float32]) {
	j.exchange(m.x, i)
	j.layers.forward(x, l, i, m.x[:j.size()], out.of(tile, i))
	j.exchange(m.x, i)
}

func (j *tileJoint) backward(x *context, m *memory, l *layersMemory, tile, i int, b *backwardStep, sums []float32) {
	var all, dx []float32
	if b.wanted() {
		if m.dx == nil {
			m.dx = make([]float32, len(m.x))
		}
		if all, dx = m.dx, m.dx[:j.size()]; i == 0 {
			clear(all)
		}
	}
	j.exchange(m.x, i)
	j.exchange(all, i)
	j.layers.backward(x, l, i, m.x[:j.size()], b.of.w.out.of(tile, i), b.g.of(tile, i), sums, dx, 0, kernel.Add)
	j.exchange(m.x, i)
	j.exchange(all, i)
}

func (j *tileJoint) hand(_ *context, m *memory, tile, i int, b *backwardStep, _ []float32) {
	handRows(j.k, j.mine(m.dx, i), j.at(m.dx, i), tile, i, b.gradIn, j.m, j.lanes)
}
