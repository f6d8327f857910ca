#include "engine/allocation_count.h"

#include <cstdlib>
#include <new>

namespace {

thread_local size_t count = 0;

void *allocate(size_t size) {
  ++count;
  if (void *block = std::malloc(size ? size : 1)) return block;
  throw std::bad_alloc();
}

}  // namespace

namespace rz::test {
size_t allocation_count() { return count; }
}  // namespace rz::test

void *operator new(size_t size) { return allocate(size); }
void *operator new[](size_t size) { return allocate(size); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  ++count;
  return std::malloc(size ? size : 1);
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, size_t) noexcept { std::free(block); }
void operator delete[](void *block, size_t) noexcept { std::free(block); }
