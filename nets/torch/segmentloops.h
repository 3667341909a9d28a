// The CPU's loops over segments of edges, for float and double; see segments.h.
// Index arrays that may be NULL are said so. Every function works on the rows or
// edges first … last − 1 and writes nothing else, so that parts may run side by
// side and give the same bits however they are cut.
#ifndef STOKER_TORCH_SEGMENTLOOPS_H
#define STOKER_TORCH_SEGMENTLOOPS_H

#include <cstdint>

#define STOKER_SEGMENT_LOOPS(T)                                                                    \
  /* y[v] = Σ w[i]·x[of[i]] over k of segment v, with i = order[k]; rows are h wide.           \
     order, of and w may be NULL: i = k, of[i] = i, w[i] = 1. */                                   \
  void segment_sums(T *y, const T *x, int64_t h, const int32_t *starts, const int32_t *order,      \
                    const int32_t *of, const T *w, int64_t first, int64_t last);                   \
  /* d[i] = a[ai[i]]·b[bi[i]] */                                                                   \
  void segment_dots(T *d, const T *a, const int32_t *ai, const T *b, const int32_t *bi, int64_t h, \
                    int64_t first, int64_t last);                                                  \
  /* y = x less its segment's largest */                                                           \
  void segment_less_largest(T *y, const T *x, const int32_t *starts, int64_t first, int64_t last); \
  /* y over its segment's sum */                                                                   \
  void segment_normalise(T *y, const int32_t *starts, int64_t first, int64_t last);                \
  /* d = p·(g − Σ p·g over the segment) */                                                     \
  void segment_softmax_back(T *d, const T *p, const T *g, const int32_t *starts, int64_t first,    \
                            int64_t last);

STOKER_SEGMENT_LOOPS(float)
STOKER_SEGMENT_LOOPS(double)

#endif
