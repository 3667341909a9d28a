package maddpg

import "github.com/stoker-rl/stoker/nets"

// blocks writes a tensor [agents, batch, width] block by block. A block is some samples of one agent and some of their
// features, taken from wider rows. A tensor that can't be written in blocks is filled on the host and set at once.
type blocks struct {
	t            nets.Tensor
	direct       blockSetter
	host         []float32
	batch, width int
}

// blockSetter is a tensor that can be written in blocks: samples row to row+rows of one agent, features from to
// from+width. Sample row + r is at src[r·stride:].
type blockSetter interface {
	SetBlock(agent, row, rows, from, width int, src []float32, stride int)
}

func newBlocks(t nets.Tensor) *blocks {
	shape := t.Shape()
	b := &blocks{t: t, batch: shape[1], width: shape[2]}
	var ok bool
	if b.direct, ok = t.(blockSetter); !ok {
		b.host = make([]float32, nets.Size(t))
	}
	return b
}

func (b *blocks) put(agent, row, rows, from, width int, src []float32, stride int) {
	switch {
	case width == 0: // src may be empty then
		return
	case b.direct != nil:
		b.direct.SetBlock(agent, row, rows, from, width, src, stride)
		return
	}
	for r := range rows {
		copy(b.host[(agent*b.batch+row+r)*b.width+from:][:width], src[r*stride:])
	}
}

// done ends a minibatch: it sets the tensors that were filled on the host.
func (b *blocks) done() {
	if b.direct == nil {
		b.t.Set(b.host)
	}
}
