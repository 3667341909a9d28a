package native

import "github.com/stoker-rl/stoker/nets"

// Copy implements [nets.Engine].
func (e *engine[T]) Copy(dst, src nets.Tensor) {
	d, s := e.pair("Copy", dst, src)
	if d == nil {
		return
	}
	if e.debug {
		e.trace.add("Copy to %v from %v", d, s)
	}
	if t := e.tiler; t != nil {
		t.elements(elementwise{kind: copyOf, dst: as32[*tensor[float32]](d), src: [3]*tensor[float32]{as32[*tensor[float32]](s)}})
		return
	}
	copy(d.data, s.data)
}

// Add implements [nets.Engine].
func (e *engine[T]) Add(dst nets.Tensor, scale float64, src nets.Tensor) {
	d, s := e.pair("Add", dst, src)
	if d == nil {
		return
	}
	if e.debug {
		e.trace.add("Add to %v %g times %v", d, scale, s)
	}
	if t := e.tiler; t != nil {
		t.elements(elementwise{kind: addScaled, factor: float32(scale), dst: as32[*tensor[float32]](d), src: [3]*tensor[float32]{as32[*tensor[float32]](s)}})
		return
	}
	axpy(T(scale), s.data, d.data)
}

// Lerp implements [nets.Engine].
func (e *engine[T]) Lerp(dst, src nets.Tensor, t float64) {
	d, s := e.pair("Lerp", dst, src)
	if d == nil {
		return
	}
	if e.debug {
		e.trace.add("Lerp of %v towards %v by %g", d, s, t)
	}
	if x := e.tiler; x != nil {
		x.elements(elementwise{kind: lerpTo, factor: float32(t), dst: as32[*tensor[float32]](d), src: [3]*tensor[float32]{as32[*tensor[float32]](s)}})
		return
	}
	lerp(d.data, s.data, T(t))
}

// lerp does dst += t(src − dst).
func lerp[T number](dst, src []T, t T) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] += t * (v - dst[i])
	}
}

// TDTarget implements [nets.Engine].
func (e *engine[T]) TDTarget(y, r, discount, q nets.Tensor) {
	const op = "TDTarget"
	ty := e.take(op, "y", y)
	if ty == nil {
		return
	}
	tr, td, tq := e.alike(op, "r", r, ty), e.alike(op, "discount", discount, ty), e.alike(op, "q", q, ty)
	if tr == nil || td == nil || tq == nil {
		return
	}
	if e.debug {
		e.trace.add("TDTarget %v from %v, %v, %v", ty, tr, td, tq)
	}
	if t := e.tiler; t != nil {
		t.elements(elementwise{kind: tdTarget, dst: as32[*tensor[float32]](ty), src: [3]*tensor[float32]{
			as32[*tensor[float32]](tr), as32[*tensor[float32]](td), as32[*tensor[float32]](tq),
		}})
		return
	}
	for i, v := range tr.data {
		ty.data[i] = v + td.data[i]*tq.data[i]
	}
}
