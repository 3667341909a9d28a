package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// sampleRows is an MLP's way through a few samples, sample-major: a layer is the product of [samples, in] and the weights
// [in, out], whose registers hold outputs. On a tile they hold samples, and most of a register is padding where these are
// few. Every sum has the same order in both ways, so that their bits agree.
//
// It acts, outside recorded updates. A pass backward reads tiles: spread puts the activations there first.
type sampleRows struct {
	l       *layers
	samples int
	in      []float32   // [agents, samples, width]
	y       [][]float32 // of each layer, likewise
}

// fewRows is the most samples that go this way.
const fewRows = 12

// newSampleRows returns nil where a network or a batch goes through tiles: where samples fill a register, or there is
// one, which is a vector; where layers are normalised, and where inputs stand side by side.
func newSampleRows(m model, batch int) *sampleRows {
	p, ok := m.(*mlp)
	if !ok || batch < 2 || batch > fewRows || len(p.ports) != 1 {
		return nil
	}
	r := &sampleRows{l: &p.layers, samples: batch, in: make([]float32, p.agents*batch*p.list[0].in)}
	for _, t := range p.list {
		if t.norm {
			return nil
		}
		r.y = append(r.y, make([]float32, p.agents*batch*t.out))
	}
	return r
}

// forward takes the samples of in, which is one tile, to out.
func (r *sampleRows) forward(x *context, in, out *Tensor) {
	n, k := r.samples, r.l.k
	for i := range r.l.agents {
		width := r.l.list[0].in
		from := r.in[i*n*width:][:n*width]
		k.Transpose(from, width, in.of(0, i), in.lanes, width, n)
		for li := range r.l.list {
			t := &r.l.list[li]
			y := r.y[li][i*n*t.out:][:n*t.out]
			r.product(x, t, i, from, y)
			from = y
		}
		k.Transpose(out.of(0, i), out.lanes, from, out.width, n, out.width)
	}
}

// product sets y = f(xW + b) for all samples.
func (r *sampleRows) product(x *context, t *layer, i int, in, y []float32) {
	b := t.bias.value(i)
	for s := range r.samples {
		copy(y[s*t.out:], b)
	}
	p := x.product.Begin(r.samples, t.out, t.in)
	p.A, p.AK, p.AM = in, 1, t.in
	p.B, p.LDB = t.weight.value(i), t.out
	p.C, p.LDC, p.Start = y, t.out, kernel.Add
	switch t.activation {
	case nets.ReLU:
		p.Finish = kernel.ReLU
		r.l.k.Product(p)
	case nets.Tanh:
		r.l.k.Product(p)
		r.l.k.Tanh(y)
	case nets.Sigmoid:
		r.l.k.Product(p)
		r.l.k.Sigmoid(y)
	default:
		r.l.k.Product(p)
	}
}

// spread puts the activations between layers where a pass backward reads them.
func (r *sampleRows) spread(m *layersMemory) {
	for li := range len(r.l.list) - 1 {
		width := r.l.list[li].out
		for i := range r.l.agents {
			r.l.k.Transpose(m.of(m.y[li], i), r.l.lanes, r.y[li][i*r.samples*width:], width, r.samples, width)
		}
	}
}
