// A buffer for a kernel to write: poisoned all over, with guards before and behind that must stay so.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace rz::test {

template <class T>
class Guarded {
 public:
  explicit Guarded(size_t n) : n_(n), bytes_(2 * kGuard + n * sizeof(T), kPoison) {}
  explicit Guarded(const std::vector<T> &values) : Guarded(values.size()) {
    std::copy(values.begin(), values.end(), data());
  }
  ~Guarded() {
    EXPECT_TRUE(poisoned(0, kGuard)) << "wrote before a buffer";
    EXPECT_TRUE(poisoned(kGuard + n_ * sizeof(T), kGuard)) << "wrote behind a buffer";
  }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;

  T *data() { return reinterpret_cast<T *>(bytes_.data() + kGuard); }
  const T *data() const { return reinterpret_cast<const T *>(bytes_.data() + kGuard); }
  T &operator[](size_t i) { return data()[i]; }
  size_t size() const { return n_; }
  std::vector<T> values() const { return {data(), data() + n_}; }
  // Elements [first, first + n) were not written.
  bool untouched(size_t first, size_t n) const { return poisoned(kGuard + first * sizeof(T), n * sizeof(T)); }

 private:
  static constexpr size_t kGuard = 128;  // bytes: twice the widest store
  static constexpr unsigned char kPoison = 0xa5;

  bool poisoned(size_t first, size_t n) const {
    return std::all_of(bytes_.begin() + static_cast<ptrdiff_t>(first),
                       bytes_.begin() + static_cast<ptrdiff_t>(first + n),
                       [](unsigned char byte) { return byte == kPoison; });
  }

  size_t n_;
  std::vector<unsigned char> bytes_;
};

}  // namespace rz::test
