// Package torch is the libtorch engine: networks, losses and optimisers of package nets on the CPU or on CUDA.
//
// It is built with the tag libtorch, after `make cuda` has set a libtorch up (package libtorch); without the tag it
// is empty. It stands on the C functions of gotch's libtch and on a small C++ file of its own, shim.cc, for what
// those lack.
//
// Gradients come from libtorch's automatic differentiation, of networks and of losses alike: nothing here repeats a
// derivative that the native engine writes out, so the two can be held against each other. Parameters are views of
// one flat vector, and so are their gradients, into which libtorch adds in place. Adam, clipping and soft targets are
// a few operations on whole vectors.
//
// Networks over graphs (graphnet.go) run on what segments.h has: rows taken by index and sums over sorted segments,
// with their derivatives. On the CPU those are loops of the package's own on libtorch's threads (segmentloops.cc); on
// a GPU they are libtorch's index_select and segment_reduce: nothing is added in an order that differs from run to
// run, with Deterministic and without it. Only a node that several graphs' choices name gets its gradient by
// libtorch's index_add, which repeats to the bit with Deterministic alone. Sizes differ from batch to batch, so none
// of it can be part of a recorded update.
//
// Tensors lie outside Go's memory and have no finalizers. What one operation makes belongs to a scope that frees it
// at the operation's end, what one pass makes to its Work until the next Forward, and everything else to the engine
// until Close; Live counts them all. libtorch keeps its last error and its gradient mode per thread, so every
// operation stays on one.
//
// On a GPU each engine has a stream of its own. The first run of a recorded update goes operation by operation, then
// its function is called once more and captured as a CUDA graph (graph.go), which later runs replay; what it
// allocates is the graph's own, what it reads lies at fixed addresses. Set copies through pinned memory and does not
// wait (upload.cc). Elsewhere, and where an update can't be captured, it runs operation by operation. What is not
// here: finding libtorch and building against it (nets/libtorch), the table of engines (nets/engines).
package torch
