// What the engine needs of libtorch in addition to gotch's functions. Tensors are
// at::Tensor pointers, as gotch's are. Functions that can fail return a message
// to be freed, or NULL.
#ifndef STOKER_TORCH_SHIM_H
#define STOKER_TORCH_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// sto_zeros makes a tensor of zeros; device -1 is the CPU.
char *sto_zeros(void **out, const int64_t *dims, size_t ndims, int type, int device);
// sto_set copies n values of a type from the host, sto_get to the host; they
// convert to or from the tensor's own type. The host's memory is declared as
// bytes because cgo searches what it passes as void* for Go pointers.
char *sto_set(void *t, const char *src, int64_t n, int type);
char *sto_get(void *t, char *dst, int64_t n, int type);
// sto_free deletes tensors.
void sto_free(void *const *t, size_t n);

// sto_leaf makes a tensor that shares t's memory, a leaf of a gradient graph.
char *sto_leaf(void **out, void *t);
// sto_view is sto_leaf for a strided part of flat.
char *sto_view(void **out, void *flat, const int64_t *dims, const int64_t *strides,
               size_t ndims, int64_t offset);
// sto_backward differentiates root, with grad as the gradient w.r.t. it. It adds
// the gradients w.r.t. the params to sums, and copies those w.r.t. the inputs to
// targets. The gradient graph stays.
char *sto_backward(void *root, void *grad, void *const *params, void *const *sums,
                   size_t nparams, void *const *inputs, void *const *targets, size_t ninputs);

// In place, with plain numbers: gotch's need a scalar object, or have no alpha.
char *sto_add(void *dst, void *src, double alpha);
// sto_addcmul does dst += value·a·b.
char *sto_addcmul(void *dst, void *a, void *b, double value);
char *sto_lerp(void *dst, void *src, double weight);
char *sto_copy(void *dst, void *src);

// sto_enter sets for this system thread whether operations build a gradient graph,
// and how many threads an operation may use, 0 for libtorch's own number.
void sto_enter(int graph, int threads);
// sto_leave ends operations that built a gradient graph: those that follow, on any system thread, have greater numbers, so
// that a backward pass adds gradients in the same order wherever they ran.
void sto_leave(void);
// sto_threads is how many threads libtorch uses when called from this system thread.
int sto_threads(void);
// sto_deterministic makes operations that have no deterministic form fail, in
// the whole process.
void sto_deterministic(int on);
int sto_is_deterministic(void);
// sto_cpu_capability names the instructions that libtorch's own kernels use.
const char *sto_cpu_capability(void);

// A stream of a CUDA device, by libtorch's id of it. sto_use_stream makes this
// system thread queue its work there.
char *sto_new_stream(int64_t *id, int device);
char *sto_use_stream(int64_t id, int device);
char *sto_wait_stream(int64_t id, int device);

// An upload sets one tensor again and again without waiting for the device: two
// staging buffers are used in turn, pinned on a machine with CUDA. A buffer is
// written again only after the copy from it has ended.
char *sto_new_upload(void **out, void *t, int pinned);
char *sto_upload(void *upload, void *t, const char *src, int64_t n, int type);
void sto_free_upload(void *upload);

// sto_watch lists, from now on, every operation that libtorch runs for this
// thread, its backward thread included, with the shapes and numbers it gets, and
// every copy between the host and a tensor. One watch at a time.
char *sto_watch(void);
// sto_unwatch ends that and returns one line for each, to be freed.
char *sto_unwatch(void);
// sto_bump increments libtorch's version counter of t.
void sto_bump(void *t);

// CUDA graphs, by the library that sto_open_graphs opens after the CUDA half.
char *sto_open_graphs(const char *path);
char *sto_graph_begin(void **graph);
char *sto_graph_end(void *graph);
char *sto_graph_replay(void *graph);
char *sto_graph_free(void *graph);

// sto_one_heap makes all system threads allocate C's memory from one heap. By
// default glibc gives each its own, and memory freed in one is not reused by others.
void sto_one_heap(void);

// sto_call_first computes each function of MKL's vector library that operations
// use, on one thread. Without it about one run of a hundred ended with other
// weights: in the first Adam step the second thread's half differed by last bits.
// The likely cause is that the library chooses its kernels on the first call, and
// that two threads that make it together may not get the same ones.
char *sto_call_first(void);

// sto_open_cuda loads the CUDA half of the libtorch that is loaded.
char *sto_open_cuda(void);

#ifdef __cplusplus
}
#endif
#endif
