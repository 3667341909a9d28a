//go:build !linux && !darwin

package libtorch

// diskFree is not asked where libtorch is not set up anyway.
func diskFree(string) (uint64, error) { return 0, errNotUnix }
