package sim

import "math/bits"

// wide is an unsigned 128-bit sum. Sums of microseconds, their squares and their products with levels stay
// exact in it, whatever the order and however long the run.
type wide struct{ hi, lo uint64 }

func (w *wide) add(x uint64) {
	var c uint64
	w.lo, c = bits.Add64(w.lo, x, 0)
	w.hi += c
}

// addMul adds a·b.
func (w *wide) addMul(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var c uint64
	w.lo, c = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, c)
}

func (w *wide) addWide(o wide) {
	var c uint64
	w.lo, c = bits.Add64(w.lo, o.lo, 0)
	w.hi, _ = bits.Add64(w.hi, o.hi, c)
}

// times returns w·x, modulo 2^128.
func (w wide) times(x uint64) wide {
	hi, lo := bits.Mul64(w.lo, x)
	return wide{hi + w.hi*x, lo}
}

func (w wide) float() float64 { return float64(float64(w.hi)*0x1p64) + float64(w.lo) }
