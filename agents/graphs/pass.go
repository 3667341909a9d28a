package graphs

import (
	"github.com/stoker-rl/stoker/internal/reuse"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Pass is a network over graphs with its optimiser, and memory for one forward and backward pass.
type Pass struct {
	Net   nets.GraphNet
	Work  nets.GraphWork
	Batch *nets.GraphBatch
	Adam  nets.Optimizer

	values []float32
}

// NewPass builds a network on an engine, with initial weights that follow from key.
func NewPass(e nets.Engine, a nets.Graph, key rng.Key, c nets.Adam) (p Pass, err error) {
	if err := a.Validate(); err != nil {
		return p, err
	}
	if p.Net, err = e.NewGraphNet(a); err != nil {
		return p, err
	}
	p.Work, p.Batch = p.Net.NewWork(), nets.NewGraphBatch(a)
	p.Net.Params().Set(nets.InitialParams(a, key))
	p.Adam, err = e.NewAdam(p.Net, c)
	return p, err
}

// Values runs a network that [Problem.Value] described on the n graphs in Batch. The slice is overwritten by the next call.
func (p *Pass) Values(n int, drop *rng.Key) []float32 {
	p.Net.Forward(p.Work, p.Batch, drop)
	p.values = reuse.Slice(p.values, n)
	p.Net.Head(p.Work, 0, nil, nil).Get(p.values)
	return p.values
}

// Backward adds the gradient of the last Values, given that by each value.
func (p *Pass) Backward(grad []float32) {
	p.Work.GradOut(0).Set(grad)
	p.Net.Backward(p.Work)
}

// Drops is the key of a gradient step's dropout, nil without dropout: what tells networks apart.
func Drops(n Net, key rng.Key, o nets.Optimizer, what int) *rng.Key {
	if n.Dropout == 0 {
		return nil
	}
	k := key.With(uint64(what)).With(uint64(o.Steps()))
	return &k
}
