//go:build libtorch

package torch

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"
)

// handle is a libtorch tensor: a pointer outside of Go's memory.
type handle = lib.Ctensor

var live atomic.Int64

// Live is the number of libtorch tensors that this process holds. It returns to its baseline after each operation of
// an engine.
func Live() int64 { return live.Load() }

// maxDims is the largest number of dimensions of a tensor here.
const maxDims = 8

// cells is a scope's memory for calls of C: a function's result and the sizes that it reads. It is in C's memory, so
// that a call passes no Go pointer and allocates nothing.
type cells struct {
	out  handle
	ints [maxDims]int64
}

// scope owns the tensors of one operation or pass and frees them together. Its methods are libtorch's operations; the
// first failure is stored, and later operations do nothing and return nil.
type scope struct {
	c    *cells
	held []handle
	list []handle // of the operation's operands
	err  error
}

func newScope() *scope {
	return &scope{c: (*cells)(C.calloc(1, C.size_t(unsafe.Sizeof(cells{}))))}
}

// clear frees the scope's tensors and forgets its failure.
func (s *scope) clear() {
	s.release(0)
	s.err = nil
}

// release frees all tensors but the first n.
func (s *scope) release(n int) {
	rest := s.held[n:]
	if len(rest) == 0 {
		return
	}
	C.sto_free((*unsafe.Pointer)(unsafe.Pointer(unsafe.SliceData(rest))), C.size_t(len(rest)))
	live.Add(-int64(len(rest)))
	s.held = s.held[:n]
}

// close frees the scope itself too.
func (s *scope) close() {
	s.clear()
	C.free(unsafe.Pointer(s.c))
	s.c = nil
}

// scopes are those that no operation uses.
type scopes struct {
	mu   sync.Mutex
	list []*scope
}

// take returns an empty scope, which is its taker's until put.
func (l *scopes) take() *scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.list) - 1
	if n < 0 {
		return newScope()
	}
	s := l.list[n]
	l.list = l.list[:n]
	return s
}

// put frees the tensors of a scope that was taken.
func (l *scopes) put(s *scope) {
	s.clear()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
}

func (l *scopes) close() {
	for _, s := range l.list {
		s.close()
	}
	l.list = nil
}

// out is the cell to which the next operation writes its result.
func (s *scope) out() *handle {
	s.c.out = nil
	return &s.c.out
}

// ints puts sizes into C's memory, until the next call.
func (s *scope) ints(v ...int) []int64 {
	for i, x := range v {
		s.c.ints[i] = int64(x)
	}
	return s.c.ints[:len(v)]
}

// keep adds the result of an operation to the scope. If libtorch failed, the cell is unchanged, and only then is the
// message read: reading it after every call would double the calls.
func (s *scope) keep(op string, in ...handle) handle {
	h := s.c.out
	if h == nil {
		s.fault(op, unsafe.Pointer(lib.GetAndResetLastErr()), in)
		return nil
	}
	live.Add(1)
	s.held = append(s.held, h)
	return h
}

// drop is keep for an operation in place: its result is a second handle of a tensor, which is freed.
func (s *scope) drop(op string, in ...handle) {
	if s.c.out == nil {
		s.fault(op, unsafe.Pointer(lib.GetAndResetLastErr()), in)
		return
	}
	lib.AtFree(s.c.out)
}

// check handles the message that a function of the shim returns.
func (s *scope) check(op string, message *C.char, in ...handle) bool {
	if message != nil {
		s.fault(op, unsafe.Pointer(message), in)
		return false
	}
	return true
}

// fault stores libtorch's message, with the operation and its operands' shapes, as the scope's error, and frees it.
func (s *scope) fault(op string, message unsafe.Pointer, in []handle) {
	text := C.GoString((*C.char)(message))
	C.free(message)
	// The rest is libtorch's own call stack.
	text, _, _ = strings.Cut(text, "\nException raised from")
	shapes := make([]string, 0, len(in))
	for _, h := range in {
		if h != nil {
			shapes = append(shapes, fmt.Sprint(shapeOf(h)))
		}
	}
	s.err = fmt.Errorf("libtorch's %s of %s: %s", op, strings.Join(shapes, ", "), strings.TrimSpace(text))
}

// shapeOf asks libtorch for a tensor's shape.
func shapeOf(h handle) []int64 {
	n := lib.AtDim(h)
	if n == 0 {
		return []int64{}
	}
	dims := make([]int64, n)
	lib.AtShape(h, unsafe.Pointer(&dims[0]))
	return dims
}
