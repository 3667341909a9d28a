//go:build libtorch

#include "shim.h"

#include <cstring>
#include <dlfcn.h>

// The functions of nets/libtorch/cpp/graphs.cpp, once its library is open.
static char *(*graph_begin)(void **);
static char *(*graph_end)(void *);
static char *(*graph_replay)(void *);
static char *(*graph_free)(void *);

template <typename F> static bool find(void *library, const char *name, F &f) {
  f = reinterpret_cast<F>(dlsym(library, name));
  return f != nullptr;
}

char *sto_open_graphs(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return strdup(dlerror());
  if (find(library, "stoker_graph_begin", graph_begin) && find(library, "stoker_graph_end", graph_end) &&
      find(library, "stoker_graph_replay", graph_replay) && find(library, "stoker_graph_free", graph_free))
    return nullptr;
  return strdup(dlerror());
}

// Go asks for a graph only after sto_open_graphs has found them all.
char *sto_graph_begin(void **graph) { return graph_begin(graph); }
char *sto_graph_end(void *graph) { return graph_end(graph); }
char *sto_graph_replay(void *graph) { return graph_replay(graph); }
char *sto_graph_free(void *graph) { return graph_free(graph); }
