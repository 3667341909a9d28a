package workload

import "slices"

// sorter puts a minute's order into order of time. Its buffers are used again.
type sorter struct {
	spare []uint64
	count [2][radix]int32
}

const (
	// Microseconds of a minute have 26 bits: two digits of 13.
	digitBits = 13
	radix     = 1 << digitBits
	// fewest is the number of arrivals from which counting digits is faster than comparing.
	fewest = 1500
)

// sort sorts order, whose lower orderBits ascend already, and returns the sorted one; the other becomes the spare.
// Sorting stably by the digits of the time from the lowest on keeps those, so that the result is that of comparing
// whole numbers.
func (s *sorter) sort(order []uint64) []uint64 {
	if len(order) < fewest {
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
