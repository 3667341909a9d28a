// CUDA graphs for nets/torch: what needs symbols of libtorch_cuda, in a library
// of its own that the program opens after libtorch_cuda. Functions that can fail
// return a message to be freed, or NULL.
//
// A graph is captured on the current stream of the thread that calls, which must
// not be the default stream; begin and end are called by the same thread. What is
// allocated in between comes from the graph's private pool and stays its own.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <cstring>
#include <exception>
#include <memory>

namespace {

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

at::cuda::CUDAGraph *graph_of(void *g) { return static_cast<at::cuda::CUDAGraph *>(g); }

} // namespace

extern "C" {

char *stoker_graph_begin(void **out) {
  return protect([&] {
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    // What is under way must be over: nothing in the graph may wait for it.
    c10::cuda::getCurrentCUDAStream().synchronize();
    // Only this thread's calls can spoil the capture: another engine's, and those
    // of libtorch's own backward thread, which enlarge the pool, may go on.
    graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    *out = graph.release();
  });
}

char *stoker_graph_end(void *g) {
  return protect([&] { graph_of(g)->capture_end(); });
}

// stoker_graph_replay launches on the current stream and does not wait.
char *stoker_graph_replay(void *g) {
  return protect([&] { graph_of(g)->replay(); });
}

char *stoker_graph_free(void *g) {
  return protect([&] { delete graph_of(g); });
}

} // extern "C"
