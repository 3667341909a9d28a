//go:build libtorch

#include "protect.h"
#include "shim.h"
#include "watch.h"

#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <optional>

namespace {

c10::impl::VirtualGuardImpl cuda() { return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA); }

c10::Stream stream_of(int64_t id, int device) {
  return c10::Stream::unpack3(id, static_cast<c10::DeviceIndex>(device), c10::DeviceType::CUDA);
}

// Upload is the staging memory of one tensor. Buffers live as long as it
// does, so that a running copy never reads freed memory.
struct Upload {
  struct Buffer {
    at::Tensor memory;               // of the tensor's format, on the host
    std::optional<c10::Event> over;  // of the copy out of it; none on the CPU
  };
  Buffer buffers[2];
  int next = 0;

  Upload(const at::Tensor &t, bool pinned) {
    auto options = at::TensorOptions().dtype(t.scalar_type()).device(at::kCPU).pinned_memory(pinned);
    for (Buffer &b : buffers) {
      b.memory = at::empty({t.numel()}, options);
      if (t.is_cuda())
        b.over.emplace(c10::DeviceType::CUDA);
    }
  }

  ~Upload() {
    for (Buffer &b : buffers) {
      try {
        if (b.over)
          b.over->synchronize();
      } catch (...) { // the device has failed: no copy is running
      }
    }
  }
};

} // namespace

char *sto_new_stream(int64_t *id, int device) {
  return protect([&] {
    // One of libtorch's streams, not the default one: that cannot be captured.
    *id = cuda().getStreamFromGlobalPool(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device))).id();
  });
}

char *sto_use_stream(int64_t id, int device) {
  return protect([&] {
    // Captures and replays of a CUDA graph use the current device's stream.
    auto stream = stream_of(id, device);
    cuda().setDevice(stream.device());
    cuda().exchangeStream(stream);
  });
}

char *sto_wait_stream(int64_t id, int device) {
  return protect([&] { cuda().synchronizeStream(stream_of(id, device)); });
}

char *sto_new_upload(void **out, void *t, int pinned) {
  return protect([&] { *out = new Upload(ref(t), pinned != 0); });
}

char *sto_upload(void *upload, void *t, const char *src, int64_t n, int type) {
  return protect([&] {
    at::Tensor &x = ref(t);
    TORCH_CHECK(x.numel() == n, n, " values for ", x.numel());
    note_copy("to_device", n);
    Upload &u = *static_cast<Upload *>(upload);
    Upload::Buffer &b = u.buffers[u.next];
    u.next = 1 - u.next;
    if (b.over)
      b.over->synchronize(); // of the last but one Set: over, unless the host is two updates ahead
    b.memory.copy_(hosted(const_cast<char *>(src), n, type));
    x.view({n}).copy_(b.memory, /*non_blocking=*/true);
    if (b.over)
      b.over->record(cuda().getStream(x.device()));
  });
}

void sto_free_upload(void *upload) { delete static_cast<Upload *>(upload); }
