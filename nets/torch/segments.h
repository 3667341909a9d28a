// Operations over the edges of graphs: gather of rows by index, and sums over
// segments of sorted rows. Each has a derivative written here. None adds to one
// place from several threads, so that results are reproducible to the bit on
// every device. Conventions are shim.h's.
#ifndef STOKER_TORCH_SEGMENTS_H
#define STOKER_TORCH_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// sto_ship makes a tensor on a device from n values on the host, which may be
// changed as soon as it returns; the copy to a GPU is queued. from and to are types.
char *sto_ship(void **out, const char *src, int64_t n, int from, int to, int device);

// Index arrays are int32. A segment v is [starts[v], starts[v+1]).

// sto_gather is y[i] = x[index[i]]. order lists the i by index, ascending, and
// those of a row u are a segment of it; it is NULL where index ascends.
char *sto_gather(void **out, void *x, void *index, void *order, void *starts);
// sto_segment_sum is y[v] = Σ x[i] over segment v; of[i] is the i's segment.
char *sto_segment_sum(void **out, void *x, void *starts, void *of);
// sto_segment_softmax is the softmax of s [m] over each segment.
char *sto_segment_softmax(void **out, void *s, void *starts, void *of);
// sto_mix is y[v] = Σ p[i]·z[from[i]] over segment v of in, where to[i] is v;
// order and starts list the i by from, as sto_gather's do.
char *sto_mix(void **out, void *p, void *z, void *from, void *to, void *in,
              void *order, void *starts);
// sto_leaky is x where positive, else slope·x.
char *sto_leaky(void **out, void *x, double slope);
// sto_composed makes the CPU compute these with libtorch's operations, as a GPU
// does, in the whole process.
void sto_composed(int on);

// sto_backward_all differentiates several roots at once and adds the gradients
// w.r.t. the params to sums. The gradient graph stays.
char *sto_backward_all(void *const *roots, void *const *grads, size_t nroots,
                       void *const *params, void *const *sums, size_t nparams);

#ifdef __cplusplus
}
#endif
#endif
