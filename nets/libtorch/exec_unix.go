//go:build unix

package libtorch

import (
	"fmt"
	"syscall"
)

// Exec runs stoker-torch in place of this process: same terminal, signals and
// exit code. It returns only where that failed.
func (l Launch) Exec() error {
	return fmt.Errorf("starting %s: %w", l.Path, syscall.Exec(l.Path, l.Args, l.Env))
}
