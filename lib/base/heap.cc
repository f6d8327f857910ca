// mimalloc where it can be had without touching the host: a private static build, or the shared library
// opened with RTLD_LOCAL (linked, it would override malloc for the whole program). Otherwise the system's
// allocator.
#include "base/heap.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#ifdef RZ_MIMALLOC_STATIC
extern "C" {
void *mi_malloc(size_t size);
void *mi_malloc_aligned(size_t size, size_t alignment);
void mi_free(void *block);
}
#endif

// A sanitizer must see every block, so its builds stay with the system's allocator.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RZ_HEAP_SYSTEM_ONLY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RZ_HEAP_SYSTEM_ONLY
#endif
#endif

namespace rz {

namespace {

struct Allocator {
  const char *name;
  void *(*allocate)(size_t size);
  void *(*allocate_aligned)(size_t size, size_t alignment);
  void (*release)(void *block);
};

void *system_allocate_aligned(size_t size, size_t alignment) {
  void *block = nullptr;
  return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}

[[maybe_unused]] constexpr Allocator kSystem{"system", std::malloc, system_allocate_aligned, std::free};

#if defined(RZ_HEAP_SYSTEM_ONLY)

const Allocator *find_allocator() { return &kSystem; }

#elif defined(RZ_MIMALLOC_STATIC)

constexpr Allocator kBuiltIn{"mimalloc (built in)", mi_malloc, mi_malloc_aligned, mi_free};

const Allocator *find_allocator() { return &kBuiltIn; }

#else

// Filled by whichever threads come first, all with the same addresses: the loader gives each of them the same
// copy. Atomics, and no lock: a lock taken here could be waited for by a thread that holds the loader's.
std::atomic<void *(*)(size_t)> mi_allocate;
std::atomic<void *(*)(size_t, size_t)> mi_allocate_aligned;
std::atomic<void (*)(void *)> mi_release;

void *shared_allocate(size_t size) { return mi_allocate.load(std::memory_order_relaxed)(size); }
void *shared_allocate_aligned(size_t size, size_t alignment) {
  return mi_allocate_aligned.load(std::memory_order_relaxed)(size, alignment);
}
void shared_release(void *block) { mi_release.load(std::memory_order_relaxed)(block); }

constexpr Allocator kShared{"mimalloc (libmimalloc.so.2)", shared_allocate, shared_allocate_aligned,
                            shared_release};

const Allocator *find_allocator() {
  // Never closed again: threads of the host that allocated in it run its destructors when they end.
  // Bound to itself first (DEEPBIND): its functions call each other by name, and a host with a mimalloc of
  // its own would otherwise be called in the middle.
  void *library = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_DEEPBIND);
  if (!library) return &kSystem;
  const auto allocate = reinterpret_cast<void *(*)(size_t)>(dlsym(library, "mi_malloc"));
  const auto aligned = reinterpret_cast<void *(*)(size_t, size_t)>(dlsym(library, "mi_malloc_aligned"));
  const auto release = reinterpret_cast<void (*)(void *)>(dlsym(library, "mi_free"));
  if (!allocate || !aligned || !release) return &kSystem;
  mi_allocate.store(allocate, std::memory_order_relaxed);
  mi_allocate_aligned.store(aligned, std::memory_order_relaxed);
  mi_release.store(release, std::memory_order_relaxed);
  return &kShared;
}

#endif

std::atomic<const Allocator *> chosen;  // null until the first use; the first choice stands

const Allocator &allocator() {
  const Allocator *known = chosen.load(std::memory_order_acquire);
  if (known) [[likely]]
    return *known;
  const Allocator *found = find_allocator();
  return chosen.compare_exchange_strong(known, found, std::memory_order_acq_rel) ? *found : *known;
}

}  // namespace

void *heap_allocate(size_t size, size_t alignment) noexcept {
  const Allocator &from = allocator();
  // A block is aligned for what fits in it, so a small one is made as long as its alignment.
  if (alignment <= alignof(std::max_align_t)) return from.allocate(std::max(size, alignment));
  return from.allocate_aligned(std::max<size_t>(size, 1), alignment);
}

void heap_free(void *block) noexcept {
  if (block) allocator().release(block);
}

const char *heap_name() noexcept { return allocator().name; }

}  // namespace rz
