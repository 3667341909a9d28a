//go:build libtorch

package torch

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/stoker-rl/stoker/nets/libtorch"
)

// grapher captures and replays updates; a test has one that needs no GPU. Between begin and end nothing is computed,
// and memory comes from the graph's own pool, which lives as long as the graph. Memory freed there is reused by the
// graph only.
type grapher struct {
	begin  func(b *backend) (unsafe.Pointer, error)
	end    func(b *backend, graph unsafe.Pointer) error
	replay func(b *backend, r *recorded) error
	free   func(graph unsafe.Pointer)
}

// graphVar set to off makes recorded updates run operation by operation, for comparison.
const graphVar = "STOKER_CUDA_GRAPH"

// cudaGraphs opens the library for CUDA graphs, once.
var cudaGraphs = sync.OnceValues(func() (*grapher, error) {
	if os.Getenv(graphVar) == "off" {
		return nil, fmt.Errorf("%s is off", graphVar)
	}
	path := graphsLibrary
	if self, err := os.Executable(); err == nil { // a binary copied from another machine has the library beside it
		if beside := filepath.Join(filepath.Dir(self), libtorch.GraphsLibrary); readable(beside) {
			path = beside
		}
	}
	if path == "" {
		return nil, errors.New(graphsFault)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if err := asError(C.sto_open_graphs(name)); err != nil {
		return nil, fmt.Errorf("the library for CUDA graphs: %w; make cuda builds it, and a copied binary looks for "+
			"it in its own folder", err)
	}
	return &grapher{
		begin: func(b *backend) (graph unsafe.Pointer, err error) {
			b.onStream(func() { err = asError(C.sto_graph_begin(&graph)) })
			return graph, err
		},
		end: func(b *backend, graph unsafe.Pointer) (err error) {
			b.onStream(func() { err = asError(C.sto_graph_end(graph)) })
			return err
		},
		replay: func(b *backend, r *recorded) (err error) {
			b.onStream(func() { err = asError(C.sto_graph_replay(r.graph)) })
			return err
		},
		free: func(graph unsafe.Pointer) {
			if message := C.sto_graph_free(graph); message != nil {
				C.free(unsafe.Pointer(message)) // the device has failed: its next operation reports that
			}
		},
	}, nil
})

func readable(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// asError converts a message to an error and frees it.
func asError(message *C.char) error {
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return errors.New(C.GoString(message))
}

// onStream runs f on the engine's stream.
func (b *backend) onStream(f func()) { b.briefly("Run", func(*scope) { f() }) }

// bump increments libtorch's version of a tensor that changed outside its view.
func (t *tensor) bump() {
	if t.h != nil {
		C.sto_bump(unsafe.Pointer(t.h))
	}
}
