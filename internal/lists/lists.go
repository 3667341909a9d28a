// Package lists makes lists from lists.
package lists

import "slices"

// From are values made from those of a list, in its order; nil from an empty one.
func From[T, U any](all []T, of func(T) U) (out []U) {
	for _, x := range all {
		out = append(out, of(x))
	}
	return out
}

// Try is From for what can fail: it ends at the first error, and returns it.
func Try[T, U any](all []T, of func(T) (U, error)) (out []U, err error) {
	for _, x := range all {
		y, err := of(x)
		if err != nil {
			return nil, err
		}
		out = append(out, y)
	}
	return out, nil
}

// Make are n values, each made from its place.
func Make[T any](n int, of func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = of(i)
	}
	return out
}

// Distinct are the values of a list, each once, in the order in which they first come.
func Distinct[T comparable](all []T) (out []T) {
	for _, x := range all {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}
