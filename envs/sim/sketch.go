package sim

import (
	"fmt"
	"math"
	"math/bits"
)

// Sketch is a histogram of times on a log-linear scale: each power of two of microseconds is cut into 2^bits
// equal buckets, so that a quantile read from it is within a factor 1 ± 2^-(bits+1) of an observed value of that
// rank. Times below 2^(bits+1) µs are exact; times of 2^40 µs (12.7 days) and more share the last bucket.
// Sketches of equal bits merge exactly. The size is fixed; the cost of reading, copying and clearing is that
// of the range in use.
type Sketch struct {
	bits   int
	lo, hi int // used range of counts, hi exclusive
	n      uint64
	counts []uint64
}

// maxSketchBits bounds the resolution: about 35·2^10 buckets.
const maxSketchBits = 10

const sketchTop = 1<<40 - 1 // µs

// NewSketch returns an empty sketch; bits is from 1 to 10.
func NewSketch(bits int) (*Sketch, error) {
	if bits < 1 || bits > maxSketchBits {
		return nil, fmt.Errorf("sim: sketch bits are %d, want 1 to %d", bits, maxSketchBits)
	}
	return &Sketch{bits: bits, counts: make([]uint64, sketchLen(bits))}, nil
}

func sketchLen(bits int) int { return bucket(sketchTop, bits) + 1 }

// bucket is the index of v: v itself where exact, else (e << bits) + v>>e with e the bits that v loses.
func bucket(v uint64, b int) int {
	e := max(0, bits.Len64(v)-1-b)
	return e<<b + int(v>>e)
}

// bucketTime is the middle of a bucket in microseconds.
func bucketTime(i, b int) Time {
	e := max(0, i>>b-1)
	return Time((i-e<<b)<<e + (1<<e-1)/2)
}

// Add counts a time; a negative one counts as 0.
func (k *Sketch) Add(t Time) {
	i := bucket(uint64(min(max(t, 0), sketchTop)), k.bits)
	k.counts[i]++
	if k.n == 0 {
		k.lo, k.hi = i, i+1
	} else if i < k.lo {
		k.lo = i
	} else if i >= k.hi {
		k.hi = i + 1
	}
	k.n++
}

// Quantile returns the time of rank ⌈q·N⌉ (at least 1), to the sketch's accuracy; 0 if nothing was counted or q is NaN.
func (k *Sketch) Quantile(q float64) Time {
	if k.n == 0 || math.IsNaN(q) {
		return 0
	}
	rank := uint64(max(1, math.Ceil(min(q, 1)*float64(k.n))))
	var sum uint64
	for i := k.lo; i < k.hi; i++ {
		if sum += k.counts[i]; sum >= rank {
			return bucketTime(i, k.bits)
		}
	}
	return bucketTime(k.hi-1, k.bits)
}

// Reset empties the sketch.
func (k *Sketch) Reset() {
	clear(k.counts[k.lo:k.hi])
	k.lo, k.hi, k.n = 0, 0, 0
}

func (k *Sketch) merge(o *Sketch) {
	if o.n == 0 {
		return
	}
	for i := o.lo; i < o.hi; i++ {
		k.counts[i] += o.counts[i]
	}
	if k.n == 0 {
		k.lo, k.hi = o.lo, o.hi
	} else {
		k.lo, k.hi = min(k.lo, o.lo), max(k.hi, o.hi)
	}
	k.n += o.n
}

// CopyFrom makes k equal to o. It allocates only where o has more buckets than k ever had.
func (k *Sketch) CopyFrom(o *Sketch) {
	if k.bits != o.bits {
		k.Reset()
		k.bits = o.bits
		if cap(k.counts) < len(o.counts) {
			k.counts = make([]uint64, len(o.counts))
		}
		k.counts = k.counts[:len(o.counts)]
	}
	k.Reset()
	copy(k.counts[o.lo:o.hi], o.counts[o.lo:o.hi])
	k.lo, k.hi, k.n = o.lo, o.hi, o.n
}
