// Memory for the library's own C++ objects: the one room that knows mimalloc. Weights, KV pages and step
// buffers are mapped arenas and do not come from here. The host's malloc is never replaced, whatever is
// found.
#pragma once

#include <cstddef>

namespace rz {

// At least `size` bytes (0 counts as 1) at a multiple of `alignment`, a power of two. nullptr when out of
// memory. From any thread, also before main.
void *heap_allocate(size_t size, size_t alignment = alignof(std::max_align_t)) noexcept;
// Gives back what heap_allocate gave; from any thread. nullptr does nothing.
void heap_free(void *block) noexcept;
// Where blocks come from: "mimalloc (built in)", "mimalloc (libmimalloc.so.2)" or "system".
const char *heap_name() noexcept;

}  // namespace rz
