// A program of a second: links the compiled bindings with libtorch the way
// stoker-torch will, multiplies two matrices and differentiates the result.
// It prints key=value lines that setting up reads. The declarations are
// written out, so that it compiles without libtorch's headers.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

namespace at {
std::string show_config();
int get_num_threads();
} // namespace at

extern "C" {
typedef void *tensor;
char *get_and_reset_last_err();
tensor at_tensor_of_data(void *, int64_t *, size_t, size_t, int);
void at_copy_data(tensor, void *, size_t, size_t);
void at_backward(tensor, int, int);
void at_free(tensor);
void atg_set_requires_grad(tensor *, tensor, int);
void atg_matmul(tensor *, tensor, tensor);
void atg_sum(tensor *, tensor, int);
void atg_grad(tensor *, tensor);
}

static void check(const char *what) {
  if (char *err = get_and_reset_last_err()) {
    std::fprintf(stderr, "%s: %s\n", what, err);
    std::exit(1);
  }
}

// line returns what follows mark up to the end of its word in text.
static std::string word(const std::string &text, const char *mark) {
  size_t at = text.find(mark);
  if (at == std::string::npos)
    return "";
  at += std::strlen(mark);
  return text.substr(at, text.find_first_of(", \n", at) - at);
}

int main(int argc, char **argv) {
  // [[1 2] [3 4]] · [[5 6] [7 8]] = [[19 22] [43 50]]; the gradient of the sum
  // with respect to the left factor is the row sums of the right one: 11, 15.
  float left[] = {1, 2, 3, 4}, right[] = {5, 6, 7, 8}, got[4];
  int64_t shape[] = {2, 2};
  const int float32 = 6;
  tensor a = at_tensor_of_data(left, shape, 2, 4, float32);
  check("left factor");
  tensor b = at_tensor_of_data(right, shape, 2, 4, float32);
  check("right factor");
  tensor leaf = nullptr, c = nullptr, sum = nullptr, grad = nullptr;
  atg_set_requires_grad(&leaf, a, 1);
  check("set_requires_grad");
  atg_matmul(&c, leaf, b);
  check("matmul");
  atg_sum(&sum, c, float32);
  check("sum");
  at_backward(sum, 0, 0);
  check("backward");
  atg_grad(&grad, leaf);
  check("grad");
  at_copy_data(c, got, 4, 4);
  check("copy");
  if (got[0] != 19 || got[1] != 22 || got[2] != 43 || got[3] != 50) {
    std::fprintf(stderr, "wrong product: %g %g %g %g\n", got[0], got[1], got[2], got[3]);
    return 1;
  }
  at_copy_data(grad, got, 4, 4);
  check("copy of the gradient");
  if (got[0] != 11 || got[1] != 15 || got[2] != 11 || got[3] != 15) {
    std::fprintf(stderr, "wrong gradient: %g %g %g %g\n", got[0], got[1], got[2], got[3]);
    return 1;
  }
  std::string config = at::show_config();
  std::printf("release=%s\n", word(config, "TORCH_VERSION=").c_str());
  std::printf("blas=%s\n", word(config, "BLAS_INFO=").c_str());
  std::printf("threads=%d\n", at::get_num_threads());
  if (argc > 1 && dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == nullptr)
    std::printf("cuda=%s\n", dlerror());
  return 0;
}
