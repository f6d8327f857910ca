// Memory taken straight from the system: zeroed, aligned to pages, committed as it is touched, given back at
// once. Weights, KV pages and step buffers live in it; it is no heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rz {

class Memory {
 public:
  Memory() = default;
  explicit Memory(uint64_t size_bytes);  // throws NoMemory
  ~Memory();
  Memory(Memory &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Memory &operator=(Memory &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  // Asks for large pages where the system has them: for memory that is walked in strides.
  void use_large_pages() const;

  std::byte *data() const { return data_; }
  uint64_t size_bytes() const { return size_; }
  template <class T>
  T *as(uint64_t offset_bytes = 0) const {
    return reinterpret_cast<T *>(data_ + offset_bytes);
  }

 private:
  std::byte *data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace rz
