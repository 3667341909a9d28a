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
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/libtorch"
)

// recorded implements [nets.Recorded]. On a GPU the first run calls the function once, then once more to capture what
// it does as a CUDA graph, and later runs replay that; elsewhere, and where it cannot be captured, each run calls the
// function. Results that only the device knows, such as a wrong choice, are read after the run, so that nothing
// within the update waits for the device.
type recorded struct {
	b      *backend
	name   string
	update func()
	ran    bool
	twice  bool     // in debug mode: it ran once
	first  []string // in debug mode: libtorch's operations in the second run

	choiceChecks
	mu       sync.Mutex // of works: Forward may run in several goroutines
	works    []*work    // Works with a Forward in this run
	pass     int64      // this run's number
	changed  []*tensor
	obstacle error // why it is not captured

	capturing bool
	graph     unsafe.Pointer // nil unless captured
	captured  []trace        // of works, in the graph's memory
}

// Record implements [nets.Engine].
func (e *engine) Record(name string, updates ...func()) nets.Recorded {
	r := &recorded{b: e.back, name: name}
	if !core.NoFunction(updates) {
		r.update = core.Called(updates).Run
	}
	return r
}

// Record implements [core.Backend]. The engine has its own.
func (*backend) Record([]func()) core.Program { return nil }

// Run implements [nets.Recorded].
func (r *recorded) Run() error {
	if r.update == nil {
		return fmt.Errorf("nets/torch: recorded update %q has no function", r.name)
	}
	err := r.run()
	if err = errors.Join(r.b.Err(), err); err != nil {
		return fmt.Errorf("recorded update %q: %w", r.name, err)
	}
	return nil
}

func (r *recorded) run() error {
	b := r.b
	outer := b.recording.Load()
	outermost := outer == nil
	switch {
	case b.Stopped("Run"):
	case r.graph != nil && outermost:
		r.replay()
		b.settleChecks(&r.choiceChecks)
	case r.graph != nil:
		b.Fail("Run", "%q, which is captured, within another recorded update, want one after the other", r.name)
	case b.debug:
		return r.compare()
	case b.graphs != nil && outermost && !r.ran && r.obstacle == nil:
		r.runAndCapture()
	default:
		outer.refuse("it runs %q", r.name)
		r.once()
		b.settleChecks(&r.choiceChecks)
	}
	return nil
}

// once calls the function, operation by operation.
func (r *recorded) once() {
	b := r.b
	defer b.recording.Store(b.recording.Load())
	b.passes++
	r.pass, r.checked, r.works, r.changed = b.passes, 0, r.works[:0], r.changed[:0]
	b.recording.Store(r)
	b.Update(r.update)
	r.ran = true
}

// runAndCapture is the first run on a GPU. It must stay on one system thread: the libraries below libtorch have
// handles per thread, which cannot be created during a capture.
func (r *recorded) runAndCapture() {
	b := r.b
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ops, err := watch(r.once)
	if err != nil {
		r.refuse("%w", err)
	}
	if !b.Failed() {
		b.settleChecks(&r.choiceChecks)
	}
	if b.Failed() {
		r.ran = false // the next run is the first again
		return
	}
	for _, op := range ops {
		if waits(op) {
			r.refuse("it waits for the device: %s", op)
		}
	}
	if r.obstacle == nil {
		r.capture()
	}
	if r.obstacle != nil {
		b.notify("recorded update %q runs operation by operation: %v", r.name, r.obstacle)
	}
}

// capture makes the graph. Nothing is computed meanwhile, so the traces of the run before are taken out of the Works
// and put back at the end.
func (r *recorded) capture() {
	b := r.b
	works := append([]*work(nil), r.works...)
	before := make([]trace, 0, len(works))
	for _, w := range works {
		before = append(before, w.swap(trace{s: newScope()}))
	}
	graph, err := b.graphs.begin(b)
	if err == nil {
		checked := r.checked
		r.capturing = true
		r.once()
		r.capturing = false
		err = errors.Join(b.Err(), b.graphs.end(b, graph))
		if err == nil && (r.checked != checked || len(r.works) != len(works)) {
			err = fmt.Errorf("it did other operations the second time")
		}
	}
	for i, w := range works {
		trace := w.swap(before[i])
		trace.kept = true
		r.captured = append(r.captured, trace)
	}
	r.works, r.graph = works, graph
	if err != nil {
		r.free()
		r.refuse("%w", err)
		return
	}
	b.updates = append(b.updates, r)
}

// replay puts the captured traces into their Works and launches the graph, without waiting for it.
func (r *recorded) replay() {
	b := r.b
	for i, w := range r.works {
		if was := w.swap(r.captured[i]); !was.kept {
			was.s.close()
		}
	}
	if err := b.graphs.replay(b, r); err != nil {
		b.Fail("Run", "replaying the CUDA graph: %w", err)
		return
	}
	for _, t := range r.changed {
		t.bump()
	}
}

// free frees the graph and its tensors.
func (r *recorded) free() {
	for i, t := range r.captured {
		if w := r.works[i]; w.s == t.s {
			w.swap(trace{s: newScope()})
		}
		t.s.close()
	}
	r.captured = nil
	if r.graph != nil {
		r.b.graphs.free(r.graph)
		r.graph = nil
	}
}

// watch runs f and lists libtorch's operations meanwhile: a line for each operation, with the shapes and all numbers of
// its arguments, and for each copy between the host and a tensor.
func watch(f func()) ([]string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := asError(C.sto_watch()); err != nil {
		f()
		return nil, err
	}
	f()
	text := C.sto_unwatch()
	defer C.free(unsafe.Pointer(text))
	return strings.Split(strings.TrimSuffix(C.GoString(text), "\n"), "\n"), nil
}

// waiting are operations that make the host wait for the device, because it needs their result's value or size.
var waiting = []string{
	"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal", "aten::allclose",
	"aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive",
	"aten::repeat_interleave", "aten::bincount", "stoker::to_host", "stoker::to_device",
}

// waits says whether a line of watch makes the host wait, or copies between host and device.
func waits(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	return slices.Contains(waiting, name)
}

// compare runs the update and compares libtorch's operations with those of the first run.
func (r *recorded) compare() error {
	if r.b.recording.Load() != nil {
		r.b.Fail("Run", "%q within another recorded update, want one after the other", r.name)
		return nil
	}
	ops, err := watch(r.once)
	if err != nil || r.b.Failed() {
		return err
	}
	r.b.settleChecks(&r.choiceChecks)
	if r.first == nil {
		// In the first run, a Work's first Backward repeats the forward pass with a graph. The second run is therefore
		// the one to compare with.
		if r.twice = !r.twice; r.twice {
			return nil
		}
		r.first = ops
		return nil
	}
	r.b.Compare(r.first, ops)
	return nil
}

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

// The engine calls the following methods during a run to report what happens. Outside a run they are called on nil.

// refuse stores the first reason why an update cannot be captured.
func (r *recorded) refuse(format string, args ...any) {
	if r != nil && r.obstacle == nil {
		r.obstacle = fmt.Errorf(format, args...)
	}
}

// forwarded reports a Forward of a Work.
func (r *recorded) forwarded(w *work) {
	w.pass = 0
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w.pass = r.pass
	if !slices.Contains(r.works, w) {
		r.works = append(r.works, w)
	}
}

// reads reports that an operation uses the results of a Work's Forward. If that ran outside the update, a graph would
// read stale memory.
func (r *recorded) reads(op string, w *work) {
	if r != nil && w.pass != r.pass {
		r.refuse("%s uses what %v computed outside of the update", op, w.net)
	}
}

// copies reports a copy between the host and a tensor, and says whether it is allowed.
func (r *recorded) copies(op string, t *tensor) bool {
	if r == nil {
		return true
	}
	r.refuse("%s of %v passes between host and device", op, t)
	if r.capturing {
		t.b.Fail(op, "%v while the update is captured, want the same operations each time", t)
		return false
	}
	return true
}

// changes reports that a tensor's values change. A replay increments libtorch's version counters of these tensors,
// which protect backward passes.
func (r *recorded) changes(t *tensor) {
	if r != nil {
		r.changed = append(r.changed, t)
	}
}
