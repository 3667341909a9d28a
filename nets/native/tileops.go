package native

import (
	"math"

	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// do lists an operation that goes tile by tile, or runs it at once.
func (t *tiler) do(batch int, s step) {
	if t.capture != nil {
		t.capture.step(batch, s)
		return
	}
	for tile := range newTiling(1, batch, 1).tiles {
		s.tile(nil, tile)
	}
}

// doWhole does so with an operation on whole tensors.
func (t *tiler) doWhole(w wholeOp) {
	if t.capture != nil {
		t.capture.whole(w)
		return
	}
	for i := range w.parts() {
		w.part(i, 0)
	}
}

// doSum does so with one that no step of the same batch depends on.
func (t *tiler) doSum(batch int, w wholeOp) {
	if t.capture != nil {
		t.capture.sum(batch, w)
		return
	}
	t.doWhole(w)
}

// elementwise is what goes number by number: TDTarget, Add, Copy and Lerp. On tensors in tiles it is a step, on others a whole.
type elementwise struct {
	k      *kernel.Set
	kind   elementKind
	dst    *tensor[float32]
	src    [3]*tensor[float32]
	factor float32
}

type elementKind uint8

const (
	tdTarget elementKind = iota // dst = src0 + src1·src2
	addScaled
	copyOf
	lerpTo
)

// elements lists or runs an operation. The value is a copy where it is kept.
func (t *tiler) elements(o elementwise) {
	o.k = t.set
	if t.capture == nil {
		o.do(0, len(o.dst.data))
		return
	}
	kept := o
	if o.dst.tiling.lanes > 0 {
		t.capture.step(o.dst.tiling.batch, &kept)
		return
	}
	t.capture.whole(&kept)
}

func (o *elementwise) tile(_ *context, tile int) {
	from, to := o.dst.tiling.tile(tile)
	o.do(from, to)
}

// chunk is how many numbers one thread takes at a time.
const chunk = 1 << 14

func (o *elementwise) parts() int { return (len(o.dst.data) + chunk - 1) / chunk }

func (o *elementwise) part(i, _ int) {
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

// reduceJob adds up the shares' gradients of a net, group by group, and leaves the shares at zero.
type reduceJob struct {
	k      *kernel.Set
	net    *tileNet
	zero   bool // the gradients held before don't count
	shares int
}

func (r *reduceJob) parts() int { return r.net.net.groups }

func (r *reduceJob) part(g, _ int) {
	n := r.net.net.size
	dst := r.net.net.grads.data[g*n:][:n]
	if r.zero {
		clear(dst)
	}
	for _, s := range r.net.sums[:min(r.shares, len(r.net.sums))] {
		addUp(r.k, dst, s[g*n:][:n])
	}
}

// adamJob is one step of Adam, group by group.
type adamJob struct {
	t      *tiler
	adam   *adam[float32]
	reduce *reduceJob // first, where not nil
}

func (j *adamJob) parts() int { return j.adam.net.groups }

func (j *adamJob) part(g, w int) {
	if j.reduce != nil {
		j.reduce.part(g, w)
	}
	a := j.adam
	c := a.factors()
	n := a.net.size
	grads := a.net.grads.data[g*n:][:n]
	norm := float32(math.Sqrt(j.t.set.SumSquares(grads)))
	a.norms.data[g] = norm
	k := &j.t.workers[w].adam
	*k = kernel.Adam{
		Beta1: c.beta1, Rest1: c.rest1, Beta2: c.beta2, Rest2: c.rest2, Rate: c.rate, Scale: c.scale, Epsilon: c.eps,
		Clip: clipFactor(float32(a.c.Clip), norm),
	}
	j.t.set.Adam(k, a.net.params.data[g*n:][:n], grads, a.first.data[g*n:][:n], a.second.data[g*n:][:n])
}
