//go:build !unix

package farm

import "io/fs"

// foreign reports whether a file belongs to another user.
func foreign(fs.FileInfo) bool { return false }
