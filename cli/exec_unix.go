//go:build unix

package cli

import "syscall"

// replaceProcess runs another program in this process's place; it returns only when that fails.
func replaceProcess(path string, args, env []string) error { return syscall.Exec(path, args, env) }
