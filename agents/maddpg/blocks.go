package maddpg

import "github.com/stoker-rl/stoker/nets"

// blocks brings numbers into a tensor [agents, batch, width] block by block: a number of samples of one agent, and of
// them some features, from rows in which they lie side by side with others. Engines whose tensors take no blocks get
// them all at once, by way of the host.
type blocks struct {
	t            nets.Tensor
	direct       taker
	host         []float32
	batch, width int
}

// taker is a tensor that takes blocks: samples row to row+rows of one agent, features from to from+width; that of
// sample row + r are src[r·stride] and those behind it.
type taker interface {
	SetBlock(agent, row, rows, from, width int, src []float32, stride int)
}

func newBlocks(t nets.Tensor) *blocks {
	shape := t.Shape()
	b := &blocks{t: t, batch: shape[1], width: shape[2]}
	var ok bool
	if b.direct, ok = t.(taker); !ok {
		b.host = make([]float32, nets.Size(t))
	}
	return b
}

func (b *blocks) put(agent, row, rows, from, width int, src []float32, stride int) {
	switch {
	case width == 0: // then there may be no src
		return
	case b.direct != nil:
		b.direct.SetBlock(agent, row, rows, from, width, src, stride)
		return
	}
	for r := range rows {
		copy(b.host[(agent*b.batch+row+r)*b.width+from:][:width], src[r*stride:])
	}
}

// done ends a batch.
func (b *blocks) done() {
	if b.direct == nil {
		b.t.Set(b.host)
	}
}
