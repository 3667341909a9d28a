//go:build libtorch

#include "watch.h"

#include "protect.h"
#include "shim.h"

#include <ATen/record_function.h>

#include <iomanip>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>

namespace {

std::mutex guard;    // of the variables below: the backward thread writes too
std::string lines;
bool watching = false;
at::CallbackHandle handle = 0;
thread_local bool here = false; // this thread began the watch

void describe(std::ostream &out, const at::Tensor &t) {
  if (!t.defined()) {
    out << "none";
    return;
  }
  out << t.device().type() << t.scalar_type() << t.sizes();
}

// describe writes tensors as device, format and shape, and all else by value.
void describe(std::ostream &out, const c10::IValue &v) {
  if (v.isTensor()) {
    describe(out, v.toTensor());
  } else if (v.isTensorList()) {
    out << "(";
    for (const at::Tensor &t : v.toTensorVector()) {
      out << " ";
      describe(out, t);
    }
    out << " )";
  } else if (v.isList()) {
    out << "[";
    for (const c10::IValue &x : v.toListRef()) {
      out << " ";
      describe(out, x);
    }
    out << " ]";
  } else if (v.isDouble()) {
    out << v.toDouble();
  } else if (v.isScalar()) {
    const at::Scalar s = v.toScalar();
    if (s.isIntegral(true))
      out << s.toLong();
    else
      out << s.toDouble();
  } else {
    out << v;
  }
}

void note(const std::string &line) {
  std::lock_guard<std::mutex> lock(guard);
  if (watching)
    lines += line + "\n";
}

std::unique_ptr<at::ObserverContext> began(const at::RecordFunction &f) {
  std::ostringstream out;
  out << std::setprecision(17) << f.name();
  for (const c10::IValue &v : f.inputs()) {
    out << " ";
    describe(out, v);
  }
  note(out.str());
  return nullptr;
}

} // namespace

void note_copy(const char *direction, int64_t values) {
  if (here)
    note(std::string("stoker::") + direction + " " + std::to_string(values));
}

char *sto_watch(void) {
  return protect([&] {
    {
      std::lock_guard<std::mutex> lock(guard);
      TORCH_CHECK(!watching, "another update is being watched");
      watching = here = true;
      lines.clear();
    }
    // The callback is this thread's; libtorch passes it to the thread that runs
    // its backward pass.
    handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(began).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  });
}

char *sto_unwatch(void) {
  at::removeCallback(handle);
  std::lock_guard<std::mutex> lock(guard);
  watching = here = false;
  return strdup(lines.c_str());
}
