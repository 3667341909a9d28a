//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"strings"
)

// workspaceVar is the environment variable that cuBLAS reads when CUDA is first used. With a size of workspaces its
// products are reproducible; by default they are not, because streams compete for workspace memory (cuBLAS
// documentation, "Results reproducibility").
const workspaceVar = "CUBLAS_WORKSPACE_CONFIG"

var workspaces = []string{":4096:8", ":16:8"}

// SetDeterministic says whether libtorch refuses operations that are not reproducible to the bit, in the whole process.
// An engine that needs such an operation then reports libtorch's message by Err.
func SetDeterministic(on bool) {
	if on {
		C.sto_deterministic(1)
	} else {
		C.sto_deterministic(0)
	}
}

// Deterministic returns the setting of SetDeterministic.
func Deterministic() bool { return C.sto_is_deterministic() != 0 }

// determined makes the operations of a device reproducible to the bit. On the CPU all operations of this engine are
// reproducible with a fixed number of threads, and nothing is changed.
func determined(device int) error {
	if device == onCPU {
		return nil
	}
	switch was := os.Getenv(workspaceVar); was {
	case "":
		// With cgo this sets C's environment too.
		if err := os.Setenv(workspaceVar, workspaces[0]); err != nil {
			return fmt.Errorf("nets/torch: %s: %w", workspaceVar, err)
		}
	case workspaces[0], workspaces[1]:
	default:
		return fmt.Errorf("nets/torch: %s is %q, want %s for deterministic results, or leave it unset", workspaceVar,
			was, strings.Join(workspaces, " or "))
	}
	SetDeterministic(true)
	return nil
}

// family names all that an operation's bits depend on. On the CPU the number of threads determines how work is split
// and in which order sums are added, and libtorch has kernels for several instruction sets.
func (b *backend) family() string {
	if b.device != onCPU {
		family := "torch-" + fittedRelease + "-cuda"
		if b.deterministic {
			family += "-deterministic"
		}
		return family
	}
	return fmt.Sprintf("torch-%s-%s-%dthreads", fittedRelease, strings.ToLower(C.GoString(C.sto_cpu_capability())),
		Threads())
}
