// The list of what libtorch does for an update; see sto_watch in shim.h.
#ifndef STOKER_TORCH_WATCH_H
#define STOKER_TORCH_WATCH_H

#include <cstdint>

// note_copy lists a copy between the host and a tensor, where this thread is
// watched.
void note_copy(const char *direction, int64_t values);

#endif
