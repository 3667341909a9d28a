//go:build !linux

package replay

// huge is for Linux.
func huge([]float32) {}
