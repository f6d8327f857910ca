#include "base/arena.h"

#include <sys/mman.h>

#include <cinttypes>

#include "base/error.h"

namespace rz {

Memory::Memory(uint64_t size_bytes) : size_(size_bytes) {
  if (size_bytes == 0) return;
  void *p = MAP_FAILED;
  if (size_bytes <= PTRDIFF_MAX) {
    p = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (p == MAP_FAILED) fail(Status::NoMemory, "memory: expected %" PRIu64 " bytes, found none", size_bytes);
  data_ = static_cast<std::byte *>(p);
}

Memory::~Memory() {
  if (data_) munmap(data_, size_);
}

void Memory::use_large_pages() const {
#ifdef MADV_HUGEPAGE
  if (data_) madvise(data_, size_, MADV_HUGEPAGE);  // a wish: nothing depends on the answer
#endif
}

}  // namespace rz
