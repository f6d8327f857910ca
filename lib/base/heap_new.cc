// The shared library's own operator new and delete. The version script keeps them local, so they serve the
// C++ objects inside librz and nothing of the host's; built only there (RZ_OWN_HEAP, with a static libstdc++,
// so that no block is allocated on one side and freed on the other).
#ifdef RZ_OWN_HEAP

#include <new>

#include "base/heap.h"

namespace {

void *allocate_or_throw(size_t size, size_t alignment) {
  void *block = rz::heap_allocate(size, alignment);
  if (!block) throw std::bad_alloc();
  return block;
}

constexpr size_t kPlain = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void *operator new(size_t size) { return allocate_or_throw(size, kPlain); }
void *operator new[](size_t size) { return allocate_or_throw(size, kPlain); }
void *operator new(size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<size_t>(alignment));
}
void *operator new[](size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<size_t>(alignment));
}
void *operator new(size_t size, const std::nothrow_t &) noexcept { return rz::heap_allocate(size, kPlain); }
void *operator new[](size_t size, const std::nothrow_t &) noexcept { return rz::heap_allocate(size, kPlain); }
void *operator new(size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  return rz::heap_allocate(size, static_cast<size_t>(alignment));
}
void *operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  return rz::heap_allocate(size, static_cast<size_t>(alignment));
}

void operator delete(void *block) noexcept { rz::heap_free(block); }
void operator delete[](void *block) noexcept { rz::heap_free(block); }
void operator delete(void *block, size_t) noexcept { rz::heap_free(block); }
void operator delete[](void *block, size_t) noexcept { rz::heap_free(block); }
void operator delete(void *block, std::align_val_t) noexcept { rz::heap_free(block); }
void operator delete[](void *block, std::align_val_t) noexcept { rz::heap_free(block); }
void operator delete(void *block, size_t, std::align_val_t) noexcept { rz::heap_free(block); }
void operator delete[](void *block, size_t, std::align_val_t) noexcept { rz::heap_free(block); }
void operator delete(void *block, const std::nothrow_t &) noexcept { rz::heap_free(block); }
void operator delete[](void *block, const std::nothrow_t &) noexcept { rz::heap_free(block); }
void operator delete(void *block, std::align_val_t, const std::nothrow_t &) noexcept { rz::heap_free(block); }
void operator delete[](void *block, std::align_val_t, const std::nothrow_t &) noexcept {
  rz::heap_free(block);
}

#endif
