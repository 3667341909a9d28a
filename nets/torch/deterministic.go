//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"strings"
)

// workspaceVar is read by cuBLAS when CUDA is first used. With the sizes in workspaces its products are the same each
// time; left alone it takes what memory is there, and streams compete for it (cuBLAS documentation, "Results
// reproducibility").
const workspaceVar = "CUBLAS_WORKSPACE_CONFIG"

var workspaces = []string{":4096:8", ":16:8"}

// SetDeterministic says whether operations that libtorch cannot repeat to the bit are refused, in the whole process.
// An engine whose update needs one then reports it by Err, with libtorch's message.
func SetDeterministic(on bool) {
	if on {
		C.sto_deterministic(1)
	} else {
		C.sto_deterministic(0)
	}
}

// Deterministic says what SetDeterministic last said.
func Deterministic() bool { return C.sto_is_deterministic() != 0 }

// determined makes the operations of a device repeat to the bit. On the CPU all that this engine uses do so already,
// at a fixed number of threads, and nothing is changed.
func determined(device int) error {
	if device == onCPU {
		return nil
	}
	switch was := os.Getenv(workspaceVar); was {
	case "":
		// Reaches C's environment too, as cgo is in.
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

// family names what decides an operation's bits. On the CPU work is divided by the number of threads, and sums are
// added up in that order; libtorch's kernels exist for several sets of instructions.
func (e *engine) family() string {
	if e.device != onCPU {
		family := "torch-" + fittedRelease + "-cuda"
		if e.deterministic {
			family += "-deterministic"
		}
		return family
	}
	return fmt.Sprintf("torch-%s-%s-%dthreads", fittedRelease, strings.ToLower(C.GoString(C.sto_cpu_capability())),
		Threads())
}
