//go:build libtorch

#include "segments.h"

#include "protect.h"
#include "segmentloops.h"
#include "watch.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

namespace {

std::atomic<bool> composed{false};

// own says whether a tensor's sums are computed by the loops here.
bool own(const Tensor &t) { return t.device().is_cpu() && !composed; }

const int32_t *indices(const Tensor &t) { return t.defined() ? t.data_ptr<int32_t>() : nullptr; }

// each calls f(first, last) for parts of carrier's n values on libtorch's
// threads. It uses libtorch's iterator, because this file is compiled without
// OpenMP. work is the total number of operations.
template <typename F> void each(const Tensor &carrier, int64_t n, int64_t work, F f) {
  if (n == 0)
    return;
  const Tensor part = carrier.narrow(0, 0, n);
  const int32_t *base = part.data_ptr<int32_t>();
  auto iterator = at::TensorIteratorConfig().add_input(part).build();
  const int64_t grain = std::max<int64_t>(1, at::internal::GRAIN_SIZE * n / std::max<int64_t>(work, 1));
  iterator.for_each(
      [&](char **data, const int64_t *, int64_t size0, int64_t size1) {
        const int64_t first = reinterpret_cast<const int32_t *>(data[0]) - base;
        f(first, first + size0 * size1);
      },
      grain);
}

// Sums is y[v] = Σ w[i]·x[of[i]] over k of segment v, i = order[k]. order, of
// and w may be undefined: i = k, of[i] = i, w = 1.
struct Sums {
  Tensor starts, order, of, w;

  Tensor operator()(const Tensor &given) const {
    const Tensor x = given.contiguous();
    auto shape = x.sizes().vec();
    shape[0] = starts.numel() - 1;
    const int64_t m = order.defined() ? order.numel() : of.defined() ? of.numel() : x.size(0);
    if (m == 0 || shape[0] == 0)
      return at::zeros(shape, x.options());
    if (!own(x))
      return compose(x);
    Tensor y = at::empty(shape, x.options());
    const int64_t n = shape[0], h = x.dim() == 1 ? 1 : x.size(1);
    const Tensor weights = w.defined() ? w.contiguous() : w;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sums", [&] {
      each(starts, n, (m + n) * h, [&](int64_t first, int64_t last) {
        segment_sums(y.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), h, indices(starts), indices(order), indices(of),
                     weights.defined() ? weights.data_ptr<scalar_t>() : nullptr, first, last);
      });
    });
    return y;
  }

  Tensor compose(const Tensor &x) const {
    Tensor rows = of, scaled = x, factors = w;
    if (order.defined()) {
      rows = of.defined() ? of.index_select(0, order) : order;
      factors = w.defined() ? w.index_select(0, order) : w;
    }
    if (rows.defined())
      scaled = x.index_select(0, rows);
    if (factors.defined())
      scaled = x.dim() == 1 ? scaled * factors : scaled * factors.unsqueeze(1);
    return at::segment_reduce(scaled, "sum", {}, {}, starts, 0, /*unsafe=*/true, 0.0);
  }
};

// dots is d[i] = a[ai[i]]·b[bi[i]].
Tensor dots(const Tensor &a, const Tensor &ai, const Tensor &given, const Tensor &bi) {
  const Tensor b = given.contiguous();
  if (!own(a))
    return (a.index_select(0, ai) * b.index_select(0, bi)).sum(1);
  const int64_t m = ai.numel(), h = a.size(1);
  Tensor out = at::empty({m}, a.options());
  const Tensor left = a.contiguous();
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "dots", [&] {
    each(ai, m, m * h, [&](int64_t first, int64_t last) {
      segment_dots(out.data_ptr<scalar_t>(), left.data_ptr<scalar_t>(), indices(ai), b.data_ptr<scalar_t>(), indices(bi), h, first, last);
    });
  });
  return out;
}

struct Gather : torch::autograd::Function<Gather> {
  static Tensor forward(AutogradContext *ctx, Tensor x, Tensor index, std::optional<Tensor> order, Tensor starts) {
    ctx->save_for_backward({order.value_or(Tensor()), starts});
    return x.index_select(0, index);
  }
  static tensor_list backward(AutogradContext *ctx, tensor_list g) {
    const auto saved = ctx->get_saved_variables();
    return {Sums{saved[1], saved[0], Tensor(), Tensor()}(g[0]), Tensor(), Tensor(), Tensor()};
  }
};

struct SegmentSum : torch::autograd::Function<SegmentSum> {
  static Tensor forward(AutogradContext *ctx, Tensor x, Tensor starts, Tensor of) {
    ctx->save_for_backward({of});
    return Sums{starts, Tensor(), Tensor(), Tensor()}(x);
  }
  static tensor_list backward(AutogradContext *ctx, tensor_list g) {
    return {g[0].index_select(0, ctx->get_saved_variables()[0]), Tensor(), Tensor()};
  }
};

struct SegmentSoftmax : torch::autograd::Function<SegmentSoftmax> {
  static Tensor forward(AutogradContext *ctx, Tensor s, Tensor starts, Tensor of) {
    Tensor p = own(s) ? loop(s.contiguous(), starts) : compose(s, starts, of);
    ctx->save_for_backward({p, starts, of});
    return p;
  }
  static Tensor loop(const Tensor &s, const Tensor &starts) {
    Tensor p = at::empty_like(s);
    const int64_t n = starts.numel() - 1, work = s.numel() + n;
    AT_DISPATCH_FLOATING_TYPES(s.scalar_type(), "softmax", [&] {
      each(starts, n, work, [&](int64_t first, int64_t last) {
        segment_less_largest(p.data_ptr<scalar_t>(), s.data_ptr<scalar_t>(), indices(starts), first, last);
      });
      p.exp_();
      each(starts, n, work, [&](int64_t first, int64_t last) { segment_normalise(p.data_ptr<scalar_t>(), indices(starts), first, last); });
    });
    return p;
  }
  static Tensor compose(const Tensor &s, const Tensor &starts, const Tensor &of) {
    const Tensor top = at::segment_reduce(s, "max", {}, {}, starts, 0, /*unsafe=*/true);
    const Tensor e = (s - top.index_select(0, of)).exp();
    return e / Sums{starts, Tensor(), Tensor(), Tensor()}(e).index_select(0, of);
  }
  static tensor_list backward(AutogradContext *ctx, tensor_list g) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &p = saved[0], &starts = saved[1];
    if (own(p)) {
      const Tensor by = g[0].contiguous(), d = at::empty_like(p);
      const int64_t n = starts.numel() - 1;
      AT_DISPATCH_FLOATING_TYPES(p.scalar_type(), "softmax", [&] {
        each(starts, n, p.numel() + n, [&](int64_t first, int64_t last) {
          segment_softmax_back(d.data_ptr<scalar_t>(), p.data_ptr<scalar_t>(), by.data_ptr<scalar_t>(), indices(starts), first, last);
        });
      });
      return {d, Tensor(), Tensor()};
    }
    const Tensor pg = p * g[0];
    const Tensor sums = Sums{starts, Tensor(), Tensor(), Tensor()}(pg);
    return {pg - p * sums.index_select(0, saved[2]), Tensor(), Tensor()};
  }
};

struct Mix : torch::autograd::Function<Mix> {
  static Tensor forward(AutogradContext *ctx, Tensor p, Tensor z, Tensor from, Tensor to, Tensor in, Tensor order, Tensor starts) {
    ctx->save_for_backward({p, z, from, to, order, starts});
    return Sums{in, Tensor(), from, p}(z);
  }
  static tensor_list backward(AutogradContext *ctx, tensor_list g) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &p = saved[0], &z = saved[1], &from = saved[2], &to = saved[3];
    Tensor dp = dots(z, from, g[0], to), dz = Sums{saved[5], saved[4], to, p}(g[0]);
    return {dp, dz, Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

std::optional<Tensor> optional(void *t) { return t == nullptr ? std::nullopt : std::optional<Tensor>(ref(t)); }

} // namespace

char *sto_ship(void **out, const char *src, int64_t n, int from, int to, int device) {
  return protect([&] {
    note_copy("graph_to_device", n);
    auto options = at::TensorOptions().dtype(type_of(from)).device(at::kCPU).pinned_memory(device >= 0);
    Tensor t = at::empty({n}, options);
    if (n > 0)
      std::memcpy(t.data_ptr(), src, n * t.element_size());
    const at::Device there = device < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device));
    // libtorch does not reuse pinned memory before the copy has ended.
    *out = new Tensor(t.to(there, type_of(to), /*non_blocking=*/true));
  });
}

char *sto_gather(void **out, void *x, void *index, void *order, void *starts) {
  return protect([&] { *out = new Tensor(Gather::apply(ref(x), ref(index), optional(order), ref(starts))); });
}

char *sto_segment_sum(void **out, void *x, void *starts, void *of) {
  return protect([&] { *out = new Tensor(SegmentSum::apply(ref(x), ref(starts), ref(of))); });
}

char *sto_segment_softmax(void **out, void *s, void *starts, void *of) {
  return protect([&] { *out = new Tensor(SegmentSoftmax::apply(ref(s), ref(starts), ref(of))); });
}

char *sto_mix(void **out, void *p, void *z, void *from, void *to, void *in, void *order, void *starts) {
  return protect([&] { *out = new Tensor(Mix::apply(ref(p), ref(z), ref(from), ref(to), ref(in), ref(order), ref(starts))); });
}

char *sto_leaky(void **out, void *x, double slope) {
  return protect([&] { *out = new Tensor(at::leaky_relu(ref(x), slope)); });
}

void sto_composed(int on) { composed = on != 0; }

char *sto_backward_all(void *const *roots, void *const *grads, size_t nroots,
                       void *const *params, void *const *sums, size_t nparams) {
  return protect([&] {
    std::vector<Tensor> from, g, by;
    for (size_t i = 0; i < nroots; ++i) {
      from.push_back(ref(roots[i]));
      g.push_back(ref(grads[i]));
    }
    for (size_t i = 0; i < nparams; ++i)
      by.push_back(ref(params[i]));
    auto found = torch::autograd::grad(from, by, g, /*retain_graph=*/true, /*create_graph=*/false, /*allow_unused=*/true);
    for (size_t i = 0; i < nparams; ++i)
      if (found[i].defined())
        ref(sums[i]).add_(found[i]);
  });
}
