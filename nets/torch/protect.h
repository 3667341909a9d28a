// What the C++ files here share.
#ifndef STOKER_TORCH_PROTECT_H
#define STOKER_TORCH_PROTECT_H

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstring>
#include <exception>

inline at::Tensor &ref(void *t) { return *static_cast<at::Tensor *>(t); }

inline at::ScalarType type_of(int type) { return static_cast<at::ScalarType>(type); }

// protect runs f and turns what it throws into a message.
template <typename F> char *protect(F f) {
  try {
    f();
    return nullptr;
  } catch (const std::exception &e) {
    return strdup(e.what());
  } catch (...) {
    return strdup("an exception of unknown type");
  }
}

// hosted is a view of host memory; the tensor does not own it.
inline at::Tensor hosted(void *data, int64_t n, int type) {
  return at::from_blob(data, {n}, at::TensorOptions().dtype(type_of(type)));
}

#endif
