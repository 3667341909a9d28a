//go:build libtorch

#include "shim.h"

#include "protect.h"
#include "watch.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/SequenceNumber.h>
#include <ATen/Version.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <string>
#include <vector>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

// direct says whether a plain copy of memory is enough.
bool direct(const at::Tensor &t, int type) {
  return t.device().is_cpu() && t.scalar_type() == type_of(type) && t.is_contiguous();
}

// latest is the greatest number of an operation of a gradient graph so far, on any system thread.
std::atomic<uint64_t> latest{0};

using Function = at::Tensor(const at::Tensor &);

void check_count(const at::Tensor &t, int64_t n) {
  TORCH_CHECK(t.numel() == n, n, " values for ", t.numel());
}

} // namespace

char *sto_zeros(void **out, const int64_t *dims, size_t ndims, int type, int device) {
  return protect([&] {
    auto options = at::TensorOptions().dtype(type_of(type));
    options = device < 0 ? options.device(at::kCPU)
                         : options.device(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
    *out = new at::Tensor(at::zeros(at::IntArrayRef(dims, ndims), options));
  });
}

char *sto_set(void *t, const char *src, int64_t n, int type) {
  return protect([&] {
    at::Tensor &x = ref(t);
    check_count(x, n);
    note_copy("to_device", n);
    if (direct(x, type)) {
      if (n > 0)
        std::memcpy(x.data_ptr(), src, n * x.element_size());
      return;
    }
    x.view({n}).copy_(hosted(const_cast<char *>(src), n, type));
  });
}

char *sto_get(void *t, char *dst, int64_t n, int type) {
  return protect([&] {
    at::Tensor &x = ref(t);
    check_count(x, n);
    note_copy("to_host", n);
    if (direct(x, type)) {
      if (n > 0)
        std::memcpy(dst, x.data_ptr(), n * x.element_size());
      return;
    }
    hosted(dst, n, type).copy_(x.detach().reshape({n}));
  });
}

void sto_free(void *const *t, size_t n) {
  for (size_t i = 0; i < n; ++i)
    delete static_cast<at::Tensor *>(t[i]);
}

char *sto_leaf(void **out, void *t) {
  return protect([&] { *out = new at::Tensor(ref(t).detach().requires_grad_(true)); });
}

char *sto_view(void **out, void *flat, const int64_t *dims, const int64_t *strides,
               size_t ndims, int64_t offset) {
  return protect([&] {
    at::IntArrayRef d(dims, ndims), s(strides, ndims);
    *out = new at::Tensor(ref(flat).detach().as_strided(d, s, offset).requires_grad_(true));
  });
}

char *sto_backward(void *root, void *grad, void *const *params, void *const *sums,
                   size_t nparams, void *const *inputs, void *const *targets, size_t ninputs) {
  return protect([&] {
    std::vector<at::Tensor> by;
    by.reserve(nparams + ninputs);
    for (size_t i = 0; i < nparams; ++i)
      by.push_back(ref(params[i]));
    for (size_t i = 0; i < ninputs; ++i)
      by.push_back(ref(inputs[i]));
    if (by.empty())
      return;
    // With explicit inputs, gradients are returned, not stored in the leaves:
    // libtorch warns about stored gradients that are views with gaps.
    auto found = torch::autograd::grad({ref(root)}, by, {ref(grad)}, /*retain_graph=*/true,
                                       /*create_graph=*/false, /*allow_unused=*/true);
    for (size_t i = 0; i < nparams; ++i)
      if (found[i].defined())
        ref(sums[i]).add_(found[i]);
    for (size_t i = 0; i < ninputs; ++i) {
      const at::Tensor &g = found[nparams + i];
      if (g.defined())
        ref(targets[i]).copy_(g);
      else
        ref(targets[i]).zero_();
    }
  });
}

char *sto_add(void *dst, void *src, double alpha) {
  return protect([&] { ref(dst).add_(ref(src), alpha); });
}

char *sto_addcmul(void *dst, void *a, void *b, double value) {
  return protect([&] { ref(dst).addcmul_(ref(a), ref(b), value); });
}

char *sto_lerp(void *dst, void *src, double weight) {
  return protect([&] { ref(dst).lerp_(ref(src), weight); });
}

char *sto_copy(void *dst, void *src) {
  return protect([&] { ref(dst).copy_(ref(src)); });
}

void sto_bump(void *t) { ref(t).unsafeGetTensorImpl()->bump_version(); }

void sto_enter(int graph, int threads) {
  torch::autograd::GradMode::set_enabled(graph != 0);
  // OpenMP stores the number per calling thread: setting it on one does not
  // change it on threads that have computed before.
  if (threads > 0 && at::get_num_threads() != threads)
    at::set_num_threads(threads);
  // A backward pass takes operations by their numbers, which each system thread counts by itself.
  if (graph)
    while (at::sequence_number::peek() < latest.load())
      at::sequence_number::get_and_increment();
}

void sto_leave(void) {
  const uint64_t mine = at::sequence_number::peek();
  for (uint64_t l = latest.load(); l < mine && !latest.compare_exchange_weak(l, mine);) {
  }
}

int sto_threads(void) { return at::get_num_threads(); }

void sto_deterministic(int on) {
  at::globalContext().setDeterministicAlgorithms(on != 0, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(on != 0);
}

int sto_is_deterministic(void) { return at::globalContext().deterministicAlgorithms(); }

const char *sto_cpu_capability(void) {
  static const std::string name = at::get_cpu_capability();
  return name.c_str();
}

void sto_one_heap(void) {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
#endif
}

char *sto_call_first(void) {
  return protect([&] {
    for (auto type : {at::kFloat, at::kDouble}) {
      at::Tensor x = at::full({16}, 0.5, at::TensorOptions().dtype(type));
      for (Function *f : {at::exp, at::log, at::log1p, at::sqrt, at::tanh})
        f(x);
    }
  });
}

char *sto_open_cuda(void) {
  // The CUDA half is in the folder of the loaded library.
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&at::get_num_threads), &info) == 0)
    return strdup("the folder of libtorch_cpu.so cannot be told");
  std::string path = info.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + "libtorch_cuda.so";
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    return strdup(dlerror());
  return nullptr;
}
