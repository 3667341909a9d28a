package core

// Dense is a row-major tensor in Go's memory. Tensors of backends embed it.
type Dense[T Number] struct {
	Header
	Data []T
	// Version counts the changes, for backends that must know whether there were any: those by Set here, their own
	// where they make them.
	Version int64
}

// NewDense returns a tensor of zeros.
func NewDense[T Number](h Header) Dense[T] { return Dense[T]{Header: h, Data: make([]T, h.Len())} }

// Resize implements [Tensor].
func (t *Dense[T]) Resize(rows int) {
	t.SetRows(rows)
	t.Data = Grow(t.Data, t.Len())
}

// Clear implements [Tensor].
func (t *Dense[T]) Clear() { clear(t.Data) }

// Set implements [nets.Tensor].
func (t *Dense[T]) Set(src []float32) { set(t, "Set", src) }

// Get implements [nets.Tensor].
func (t *Dense[T]) Get(dst []float32) {
	if t.Host("Get", len(dst)) {
		Convert(dst, t.Data)
	}
}

// Set64 implements [nets.Tensor].
func (t *Dense[T]) Set64(src []float64) { set(t, "Set64", src) }

// Get64 implements [nets.Tensor].
func (t *Dense[T]) Get64(dst []float64) {
	if t.Host("Get64", len(dst)) {
		Convert(dst, t.Data)
	}
}

func set[T, S Number](t *Dense[T], op string, src []S) {
	if t.Host(op, len(src)) {
		t.Version++
		Convert(t.Data, src)
	}
}
