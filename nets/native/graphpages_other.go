//go:build !linux

package native

func largePages[E any]([]E) {}
