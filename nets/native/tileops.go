package native

import "github.com/stoker-rl/stoker/nets/native/kernel"

// apartStep is a step of one stage, in which agents are apart.
type apartStep interface {
	step
	stage
}

// do lists an operation that goes tile by tile, or runs it at once.
func (t *tiler) do(tl tiling, s apartStep) {
	if t.capture != nil {
		t.capture.step(tl.agents, tl.batch, s)
		return
	}
	for tile := range tl.tiles {
		s.run(nil, tile, 0, s.apart())
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
func (t *tiler) doSum(tl tiling, w wholeOp) {
	if t.capture != nil {
		t.capture.sum(tl.agents, tl.batch, w)
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
		t.capture.step(o.dst.agents, o.dst.batch, &kept)
		return
	}
	t.capture.whole(&kept)
}

func (o *elementwise) stages() []stage { return []stage{o} }
func (o *elementwise) apart() int      { return o.dst.agents }
func (*elementwise) fence() bool       { return false }

func (o *elementwise) run(_ *context, tile, from, to int) {
	o.do(o.dst.block(tile, from), o.dst.block(tile, to))
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
