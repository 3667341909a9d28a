// Package heap keeps the least of some values at hand, in a slice. It takes the same steps as container/heap, so that
// values that are equal in their order come out in the same sequence, and does not allocate once the slice is large enough.
package heap

// Ordered are values of which one may come before another.
type Ordered[T any] interface{ Before(T) bool }

// Push puts x into a heap.
func Push[T Ordered[T]](h *[]T, x T) {
	*h = append(*h, x)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].Before(s[up]) {
			return
		}
		s[up], s[i] = s[i], s[up]
		i = up
	}
}

// Pop takes the least value out of a heap that is not empty.
func Pop[T Ordered[T]](h *[]T) T {
	var none T
	s, last := *h, len(*h)-1
	least := s[0]
	s[0], s[last] = s[last], none // what has left is not kept
	s = s[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && s[k+1].Before(s[k]) {
			k++
		}
		if !s[k].Before(s[i]) {
			break
		}
		s[i], s[k] = s[k], s[i]
		i = k
	}
	*h = s
	return least
}
