package workload

import "slices"

// sorter sorts the arrivals of a minute by time. It reuses its buffers.
type sorter struct {
	spare []uint64
	count [2][radix]int32
}

const (
	// Radix sort: the microseconds of a minute have 26 bits, two digits of 13 bits.
	digitBits = 13
	radix     = 1 << digitBits
	// minRadix is the number of arrivals from which a radix sort is faster than slices.Sort.
	minRadix = 1500
)

// sort sorts order, whose low orderBits are ascending, and returns the sorted slice; the other slice becomes the spare.
// The radix sort on the bits of the time alone is stable: its result equals that of slices.Sort on the whole numbers.
func (s *sorter) sort(order []uint64) []uint64 {
	if len(order) < minRadix {
		slices.Sort(order)
		return order
	}
	if cap(s.spare) < len(order) {
		s.spare = make([]uint64, cap(order))
	}
	clear(s.count[0][:])
	clear(s.count[1][:])
	for _, x := range order {
		t := x >> orderBits
		s.count[0][t%radix]++
		s.count[1][t>>digitBits%radix]++
	}
	for digit := range s.count {
		at, shift := &s.count[digit], orderBits+digit*digitBits
		var before int32
		for i, n := range at {
			at[i] = before
			before += n
		}
		to := s.spare[:len(order)]
		for _, x := range order {
			d := x >> shift % radix
			to[at[d]] = x
			at[d]++
		}
		s.spare, order = order, to
	}
	return order
}
