//go:build !unix

package libtorch

// Exec is for systems where libtorch is set up.
func (l Launch) Exec() error { return Unavailable(l.Path, nil) }
