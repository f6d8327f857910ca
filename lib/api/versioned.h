// Structs that grow from version to version. A caller's struct may be shorter than ours (fields it does not
// know get their defaults) or longer (what we do not know must be zero); struct_size says which.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "api/guard.h"

namespace rz::api {

// struct_size and the field after it, which every struct has had from the beginning.
constexpr uint32_t kSmallestStruct = 8;
// A size far beyond what any version could have is garbage, and what lies there is not read.
constexpr uint32_t kLargestGrowth = 1024;

// Copies *given over a zeroed struct. Throws Argument, naming it.
template <class T>
T take(const T *given, const char *name) {
  T known{};
  need(given, name);
  const uint32_t size = given->struct_size;
  if (size < kSmallestStruct || size % 4 != 0 || size > sizeof(T) + kLargestGrowth) {
    fail(Status::Argument, "%s.struct_size: expected %zu (RZ_INIT), found %u", name, sizeof(T), size);
  }
  const auto *bytes = reinterpret_cast<const unsigned char *>(given);
  std::memcpy(&known, bytes, std::min<size_t>(size, sizeof(T)));
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      fail(Status::Argument, "%s: byte %zu is set, this library knows %zu bytes of it", name, i, sizeof(T));
    }
  }
  known.struct_size = sizeof(T);
  return known;
}

template <class T>
T take_or_default(const T *given, const char *name) {
  return given ? take(given, name) : T{};
}

// A struct that the library fills: NULL and sizes that cannot be are refused before any work is done.
template <class T>
void check_out(const T *out, const char *name) {
  need(out, name);
  if (out->struct_size < kSmallestStruct) {
    fail(Status::Argument, "%s.struct_size: expected %zu (RZ_INIT), found %u", name, sizeof(T),
         out->struct_size);
  }
}

// Copies what the caller has room for; its struct_size stays.
template <class T>
void give(T value, T *out) {
  value.struct_size = out->struct_size;
  std::memcpy(out, &value, std::min<size_t>(out->struct_size, sizeof(T)));
}

// An array of structs is laid out as its first one says.
template <class T>
void check_stride(const T *array, size_t n, const char *name) {
  if (n < 2 || array->struct_size % alignof(T) == 0) return;
  fail(Status::Argument, "%s.struct_size: expected %zu (RZ_INIT), found %u", name, sizeof(T),
       array->struct_size);
}

// The i-th struct of a caller's array, whose structs are as long as its first one says.
template <class T>
T *element(T *array, size_t i) {
  using Byte = std::conditional_t<std::is_const_v<T>, const unsigned char, unsigned char>;
  return reinterpret_cast<T *>(reinterpret_cast<Byte *>(array) + i * array->struct_size);
}

inline void check_flags(uint32_t flags, uint32_t known, const char *name) {
  if ((flags & ~known) != 0) fail(Status::Argument, "%s: unknown flag 0x%x", name, flags & ~known);
}

}  // namespace rz::api
