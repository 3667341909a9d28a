package gorgonia

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// graphNet implements [core.GraphNetwork]. Edges are dense incidence matrices, so that a pass needs only matrix
// products, whose gradients are gorgonia's. Each call builds new expressions: Forward for the embeddings, Head for one
// head on the computed embeddings, Backward for all of them together.
type graphNet[T core.Number] struct{ weights[T] }

// NewGraphNet implements [core.Graphs].
func (b *backend[T]) NewGraphNet(v *core.Vectors[*tensor[T]], _ nets.Graph) (core.GraphNetwork[*tensor[T]], error) {
	return &graphNet[T]{weights[T]{v, b}}, nil
}

// graphWork implements [core.GraphPass].
type graphWork[T core.Number] struct {
	*core.GraphRun[*tensor[T]]
	net     *graphNet[T]
	version int64 // of the parameters at the last Forward
	x, g    [][]T // embeddings and pooled vectors by kind; nil where a kind has no nodes
}

// NewPass implements [core.GraphNetwork].
func (n *graphNet[T]) NewPass(r *core.GraphRun[*tensor[T]]) core.GraphPass[*tensor[T]] {
	return &graphWork[T]{GraphRun: r, net: n}
}

// fail reports what gorgonia refused.
func (w *graphWork[T]) fail(op string, err error) {
	if err != nil {
		w.net.State.Fail(op, "%v: %w", w.net, err)
	}
}

// Forward implements [core.GraphPass].
func (w *graphWork[T]) Forward() {
	p := newGraphPass(w)
	x := p.embed()
	numbers, err := p.run(append(slices.Clone(x), p.pool(x)...))
	w.fail("Forward", err)
	w.x, w.g, w.version = numbers[:len(x)], numbers[len(x):], w.net.Params.Version
}

// Head implements [core.GraphPass].
func (w *graphWork[T]) Head(head int) {
	if w.net.changed("Head", w.version) {
		return
	}
	p := newGraphPass(w)
	x, g := make([]node, len(w.x)), make([]node, len(w.g))
	for k := range x {
		if w.x[k] != nil {
			x[k], g[k] = p.leaf(w.Rows(k), w.Arch.Hidden, w.x[k]), p.leaf(w.Batch.Graphs(), w.Arch.Hidden, w.g[k])
		}
	}
	numbers, err := p.run([]node{p.head(head, x, g)})
	w.fail("Head", err)
	copy(w.Heads[head].Out.Data, numbers[0])
}

// Backward implements [core.GraphPass].
func (w *graphWork[T]) Backward() {
	if w.net.changed("Backward", w.version) {
		return
	}
	p := newGraphPass(w)
	var x, g, outputs, by []node
	for i, run := range w.Heads {
		if !run.Ran || run.Grad.Len() == 0 {
			continue
		}
		if x == nil {
			x = p.embed()
			g = p.pool(x)
		}
		outputs = append(outputs, p.head(i, x, g))
		by = append(by, p.leaf(run.Rows, run.Grad.Width(), run.Grad.Data))
	}
	if len(outputs) > 0 {
		w.net.Grads.Version++
		w.fail("Backward", p.differentiate(outputs, by))
	}
}

// Embedding implements [core.GraphPass].
func (w *graphWork[T]) Embedding(kind int, out *tensor[T]) { copy(out.Data, w.x[kind]) }

// Pooled implements [core.GraphPass].
func (w *graphWork[T]) Pooled(out *tensor[T]) {
	out.Clear()
	for k, g := range w.g {
		for h, i := w.Arch.Hidden, 0; i*h < len(g); i++ {
			copy(out.Data[i*out.Width()+k*h:], g[i*h:][:h])
		}
	}
}
