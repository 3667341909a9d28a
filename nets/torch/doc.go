// Package torch is the libtorch engine: networks, losses and optimisers of package nets on the CPU or on CUDA.
//
// It needs the build tag libtorch, after `make cuda` has set up a libtorch (package libtorch); without the tag the
// package is empty. It calls the C functions of gotch's libtch, and for what those lack a small C++ file, shim.cc.
//
// Gradients of networks and losses come from libtorch's automatic differentiation. They are independent of the
// derivatives that the native engine writes out, so the two engines can be tested against each other. Parameters are
// views of one flat vector, and so are their gradients, to which libtorch adds in place. Adam, clipping and soft
// targets are a few operations on whole vectors.
//
// Networks over graphs (graphnet.go) use the operations of segments.h: gather by row index and sums over sorted
// segments, with their derivatives. On the CPU these are loops on libtorch's threads (segmentloops.cc), on a GPU
// libtorch's index_select and segment_reduce. Their sums have the same order in every run, with or without
// Deterministic. One exception: the gradient of a node that several graphs choose uses libtorch's index_add, which
// is only reproducible to the bit with Deterministic. Sizes differ from batch to batch, so networks over graphs
// cannot be part of a recorded update.
//
// Tensors are outside Go's memory and have no finalizers. A scope owns the tensors of one operation and frees them at
// its end; a Work owns those of a pass until the next Forward; the engine owns the rest until Close. Live counts them
// all. libtorch stores its last error and its gradient mode per thread, so an operation stays on one thread.
//
// On a GPU each engine has its own stream. The first run of a recorded update runs operation by operation, then calls
// the function once more to capture it as a CUDA graph (record.go); later runs replay the graph. The graph owns the
// memory that it allocates, and reads its inputs at fixed addresses. Set copies through pinned memory and does not
// wait (upload.cc). On the CPU, and where an update cannot be captured, every run goes operation by operation.
//
// What is not here: checks of operands and shapes, and what no device changes in an optimiser or a Work
// (nets/internal/core), finding libtorch and building against it (nets/libtorch), the table of engines (nets/engines).
package torch
