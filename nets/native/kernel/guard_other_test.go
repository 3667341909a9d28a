//go:build !linux

package kernel

import "testing"

// guarded returns n values. Only the Linux version puts a page without access behind them.
func guarded[T any](t testing.TB, n int) []T { return make([]T, n) }
