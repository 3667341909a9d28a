// Package reuse keeps memory from one use to the next.
package reuse

// Slice returns a slice of length n, in s where it has room. What it holds is not defined.
func Slice[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n, n+n/4)
	}
	return s[:n]
}
