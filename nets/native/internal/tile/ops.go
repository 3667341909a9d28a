package tile

import (
	"slices"

	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// doWhole captures an operation on whole tensors, or runs it at once.
func (b *Backend) doWhole(w wholeOp) {
	if b.program != nil {
		b.program.whole(w)
		return
	}
	for i := range w.parts() {
		w.Part(i, 0)
	}
}

// elementwise is an operation on each number: TDTarget, Add, Copy and Lerp. On tensors in tiles it is a step, on
// others a whole.
type elementwise struct {
	k      *kernel.Set
	kind   elementKind
	dst    *Tensor
	src    [3]*Tensor
	factor float32
}

type elementKind uint8

const (
	tdTarget elementKind = iota // dst = src0 + src1·src2
	addScaled
	copyOf
	lerpTo
)

// Copy implements [core.Backend].
func (b *Backend) Copy(dst, src *Tensor) {
	b.elements(elementwise{kind: copyOf, dst: dst, src: [3]*Tensor{src}})
}

// Add implements [core.Backend].
func (b *Backend) Add(dst *Tensor, scale float64, src *Tensor) {
	b.elements(elementwise{kind: addScaled, factor: float32(scale), dst: dst, src: [3]*Tensor{src}})
}

// Lerp implements [core.Backend].
func (b *Backend) Lerp(dst, src *Tensor, t float64) {
	b.elements(elementwise{kind: lerpTo, factor: float32(t), dst: dst, src: [3]*Tensor{src}})
}

// TDTarget implements [core.Backend].
func (b *Backend) TDTarget(y, r, discount, q *Tensor) {
	b.elements(elementwise{kind: tdTarget, dst: y, src: [3]*Tensor{r, discount, q}})
}

// elements captures or runs an operation. A captured one is a copy.
func (b *Backend) elements(o elementwise) {
	o.k = b.set
	if b.program == nil {
		o.do(0, len(o.dst.data))
		return
	}
	captured := o
	if o.dst.lanes > 0 {
		b.program.step(o.dst.agents, o.dst.batch, &captured)
		return
	}
	b.program.whole(&captured)
}

func (o *elementwise) stages() []stage {
	return []stage{{agents: o.dst.agents, run: func(_ *context, tile, from, to int) {
		o.do(o.dst.block(tile, from), o.dst.block(tile, to))
	}}}
}

// chunk is how many numbers one thread takes at a time.
const chunk = 1 << 14

func (o *elementwise) parts() int { return (len(o.dst.data) + chunk - 1) / chunk }

// Part implements [pool.Job].
func (o *elementwise) Part(i, _ int) {
	o.do(i*chunk, min((i+1)*chunk, len(o.dst.data)))
}

func (o *elementwise) do(from, to int) {
	dst, src := o.dst.data[from:to], o.src[0].data[from:to]
	switch o.kind {
	case tdTarget:
		discount, q := o.src[1].data[from:to], o.src[2].data[from:to]
		for i, r := range src {
			dst[i] = r + discount[i]*q[i]
		}
	case addScaled:
		o.k.Axpy(o.factor, src, dst)
	case copyOf:
		copy(dst, src)
	case lerpTo:
		o.k.Lerp(o.factor, src, dst)
	}
}

func (o *elementwise) reads(t *Tensor) bool  { return slices.Contains(o.src[:], t) || o.dst == t }
func (o *elementwise) writes(t *Tensor) bool { return o.dst == t }
