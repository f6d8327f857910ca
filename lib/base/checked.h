// Arithmetic on numbers that came from a file. Every sum, product and conversion that could pass the type's
// range throws Error(Format, "<what>: overflow ..."), so that a hostile size can never wrap into a small one.
#pragma once

#include <cinttypes>
#include <limits>

#include "base/error.h"

namespace rz {

template <class T>
T checked_add(T a, T b, const char *what) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    fail(Status::Format, "%s: overflow in %" PRIu64 " + %" PRIu64, what, static_cast<uint64_t>(a),
         static_cast<uint64_t>(b));
  }
  return sum;
}

template <class T>
T checked_mul(T a, T b, const char *what) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) {
    fail(Status::Format, "%s: overflow in %" PRIu64 " * %" PRIu64, what, static_cast<uint64_t>(a),
         static_cast<uint64_t>(b));
  }
  return product;
}

// Rounds `value` up to a multiple of `alignment` (a power of two).
inline uint64_t checked_align(uint64_t value, uint64_t alignment, const char *what) {
  return checked_add(value, alignment - 1, what) & ~(alignment - 1);
}

template <class To, class From>
To checked_cast(From value, const char *what) {
  To result{};
  if (__builtin_add_overflow(value, From{0}, &result)) {
    fail(Status::Format, "%s: overflow, %" PRIu64 " does not fit %zu bytes", what,
         static_cast<uint64_t>(value), sizeof(To));
  }
  return result;
}

}  // namespace rz
