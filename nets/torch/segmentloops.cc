//go:build libtorch

#include "segmentloops.h"

#include <algorithm>
#include <limits>

// Compiled for several instruction sets, one of which is chosen when the program
// starts, as with libtorch's own kernels. -O2 alone does not vectorise loops of
// unknown length.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#define CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define CLONES
#endif
#define INLINE inline __attribute__((always_inline))

namespace {

template <typename T>
INLINE void sums(T *y, const T *x, int64_t h, const int32_t *starts, const int32_t *order, const int32_t *of, const T *w, int64_t first, int64_t last) {
  for (int64_t v = first; v < last; ++v) {
    T *__restrict row = y + v * h;
    std::fill(row, row + h, T(0));
    for (int32_t k = starts[v]; k < starts[v + 1]; ++k) {
      const int32_t i = order ? order[k] : k;
      const T *from = x + int64_t(of ? of[i] : i) * h;
      const T factor = w ? w[i] : T(1);
      for (int64_t c = 0; c < h; ++c)
        row[c] += factor * from[c];
    }
  }
}

// numbers is sums of rows of one number.
template <typename T>
INLINE void numbers(T *y, const T *x, const int32_t *starts, const int32_t *order, const int32_t *of, const T *w, int64_t first, int64_t last) {
  for (int64_t v = first; v < last; ++v) {
    T sum = 0;
    for (int32_t k = starts[v]; k < starts[v + 1]; ++k) {
      const int32_t i = order ? order[k] : k;
      sum += (w ? w[i] : T(1)) * x[of ? of[i] : i];
    }
    y[v] = sum;
  }
}

template <typename T>
INLINE void dots(T *d, const T *a, const int32_t *ai, const T *b, const int32_t *bi, int64_t h, int64_t first, int64_t last) {
  constexpr int64_t n = 16; // partial sums, in an order that fits vector registers
  for (int64_t i = first; i < last; ++i) {
    const T *p = a + int64_t(ai[i]) * h, *q = b + int64_t(bi[i]) * h;
    T parts[n] = {}, rest = 0;
    int64_t c = 0;
    for (; c + n <= h; c += n)
      for (int64_t l = 0; l < n; ++l)
        parts[l] += p[c + l] * q[c + l];
    for (; c < h; ++c)
      rest += p[c] * q[c];
    for (int64_t step = n / 2; step > 0; step /= 2)
      for (int64_t l = 0; l < step; ++l)
        parts[l] += parts[l + step];
    d[i] = parts[0] + rest;
  }
}

template <typename T> INLINE void less_largest(T *y, const T *x, const int32_t *starts, int64_t first, int64_t last) {
  for (int64_t v = first; v < last; ++v) {
    T top = -std::numeric_limits<T>::infinity();
    for (int32_t i = starts[v]; i < starts[v + 1]; ++i)
      top = x[i] > top ? x[i] : top;
    for (int32_t i = starts[v]; i < starts[v + 1]; ++i)
      y[i] = x[i] - top;
  }
}

template <typename T> INLINE void normalise(T *y, const int32_t *starts, int64_t first, int64_t last) {
  for (int64_t v = first; v < last; ++v) {
    T sum = 0;
    for (int32_t i = starts[v]; i < starts[v + 1]; ++i)
      sum += y[i];
    for (int32_t i = starts[v]; i < starts[v + 1]; ++i)
      y[i] /= sum;
  }
}

template <typename T> INLINE void softmax_back(T *d, const T *p, const T *g, const int32_t *starts, int64_t first, int64_t last) {
  for (int64_t v = first; v < last; ++v) {
    T sum = 0;
    for (int32_t i = starts[v]; i < starts[v + 1]; ++i)
      sum += p[i] * g[i];
    for (int32_t i = starts[v]; i < starts[v + 1]; ++i)
      d[i] = p[i] * (g[i] - sum);
  }
}

} // namespace

#define DEFINE(T)                                                                                                          \
  CLONES void segment_sums(T *y, const T *x, int64_t h, const int32_t *starts, const int32_t *order, const int32_t *of, \
                           const T *w, int64_t first, int64_t last) {                                                    \
    if (h == 1)                                                                                                            \
      numbers(y, x, starts, order, of, w, first, last);                                                                    \
    else                                                                                                                   \
      sums(y, x, h, starts, order, of, w, first, last);                                                                    \
  }                                                                                                                        \
  CLONES void segment_dots(T *d, const T *a, const int32_t *ai, const T *b, const int32_t *bi, int64_t h, int64_t first,   \
                           int64_t last) {                                                                                 \
    dots(d, a, ai, b, bi, h, first, last);                                                                                 \
  }                                                                                                                        \
  CLONES void segment_less_largest(T *y, const T *x, const int32_t *starts, int64_t first, int64_t last) {                 \
    less_largest(y, x, starts, first, last);                                                                               \
  }                                                                                                                        \
  CLONES void segment_normalise(T *y, const int32_t *starts, int64_t first, int64_t last) {                                \
    normalise(y, starts, first, last);                                                                                     \
  }                                                                                                                        \
  CLONES void segment_softmax_back(T *d, const T *p, const T *g, const int32_t *starts, int64_t first, int64_t last) {     \
    softmax_back(d, p, g, starts, first, last);                                                                            \
  }

DEFINE(float)
DEFINE(double)
