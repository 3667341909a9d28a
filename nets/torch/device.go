//go:build libtorch

package torch

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"
)

// onCPU is gotch's number for the CPU; CUDA devices start at 0.
const onCPU = -1

// openCUDA loads libtorch's CUDA half, once.
var openCUDA = sync.OnceValue(func() error {
	message := C.sto_open_cuda()
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return fmt.Errorf("nets/torch: libtorch's CUDA half cannot be opened: %s; on a machine with a GPU make cuda "+
		"fetches what it needs", C.GoString(message))
})

// openDevice gives the engine its own stream on its GPU, makes Set asynchronous, and opens CUDA graphs.
func (b *backend) openDevice() error {
	var stream C.int64_t
	if message := C.sto_new_stream(&stream, C.int(b.device)); message != nil {
		defer C.free(unsafe.Pointer(message))
		return fmt.Errorf("nets/torch: a stream on cuda:%d: %s", b.device, C.GoString(message))
	}
	b.stream, b.staged = int64(stream), true
	var err error
	if b.graphs, err = cudaGraphs(); err != nil {
		b.notify("recorded updates run operation by operation: %v", err)
	}
	return nil
}

// notify passes on the first notice only.
func (b *backend) notify(format string, args ...any) {
	b.told.Do(func() {
		line := "nets/torch: " + fmt.Sprintf(format, args...)
		if b.notice != nil {
			b.notice(line)
		} else {
			fmt.Fprintln(os.Stderr, line)
		}
	})
}

// oneHeap, called once, keeps resident memory from growing each time a goroutine moves to another system thread.
var oneHeap = sync.OnceFunc(func() { C.sto_one_heap() })

// callFirst makes results the same in every process: see sto_call_first.
var callFirst = sync.OnceValue(func() error { return asError(C.sto_call_first()) })

// Devices is the number of CUDA devices that libtorch can use, after loading its CUDA half. Call it before anything
// else of this package: libtorch counts devices once, when it first differentiates.
func Devices() (int, error) {
	if err := openCUDA(); err != nil {
		return 0, err
	}
	return int(lib.AtcCudaDeviceCount()), nil
}

// parseDevice reads cpu, cuda or cuda:N.
func parseDevice(name string) (int, error) {
	if name == "" || name == "cpu" {
		return onCPU, nil
	}
	number, ok := strings.CutPrefix(name, "cuda")
	if ok && number == "" {
		number = ":0"
	}
	number, colon := strings.CutPrefix(number, ":")
	n, err := strconv.Atoi(number)
	if !ok || !colon || err != nil || n < 0 {
		return 0, fmt.Errorf("nets/torch: device is %q, want cpu or cuda:N", name)
	}
	return n, nil
}

// available says whether tensors can be made on a device.
func available(device int) error {
	if device == onCPU {
		return nil
	}
	n, err := Devices()
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("nets/torch: device is cuda:%d, but libtorch finds no CUDA device: no NVIDIA driver, or "+
			"one too old for this release", device)
	}
	if device >= n {
		return fmt.Errorf("nets/torch: device is cuda:%d, but there are %d, cuda:0 to cuda:%d", device, n, n-1)
	}
	return nil
}

func deviceName(device int) string {
	if device == onCPU {
		return "cpu"
	}
	return "cuda:" + strconv.Itoa(device)
}

// threads is the number that SetThreads set, 0 before.
var threads atomic.Int64

// SetThreads sets how many threads one operation of libtorch may use on the CPU, in the whole process, from the next
// operation on.
func SetThreads(n int) error {
	if n < 1 {
		return fmt.Errorf("nets/torch: threads is %d, want at least 1", n)
	}
	threads.Store(int64(n))
	return nil
}

// Threads is how many threads one operation of libtorch may use on the CPU: the number that SetThreads set, or else
// libtorch's own choice.
func Threads() int {
	if n := threads.Load(); n > 0 {
		return int(n)
	}
	return threadsHere()
}

// threadsHere is how many threads libtorch uses when called from this system thread.
func threadsHere() int { return int(C.sto_threads()) }

// enter sets up the current system thread: whether operations build a graph, and how many threads they use. libtorch
// stores both per system thread, and a goroutine may move to another one.
func enter(graph bool) {
	if graph {
		C.sto_enter(1, C.int(threads.Load()))
	} else {
		C.sto_enter(0, C.int(threads.Load()))
	}
}

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
