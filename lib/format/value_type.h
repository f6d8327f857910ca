// What a scalar of GGUF metadata is in C++, in one place: its size, and a way to call a function with its
// type.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "format/model_file.h"

namespace rz {

constexpr uint32_t kValueTypes = 13;

// Calls use(T{}) with the type that lies in the file. A bool lies there as a byte, false when zero.
template <class Use>
auto with_scalar(ValueType type, Use &&use) {
  switch (type) {
    case ValueType::U8:
    case ValueType::Bool:
      return use(uint8_t{});
    case ValueType::I8:
      return use(int8_t{});
    case ValueType::U16:
      return use(uint16_t{});
    case ValueType::I16:
      return use(int16_t{});
    case ValueType::U32:
      return use(uint32_t{});
    case ValueType::I32:
      return use(int32_t{});
    case ValueType::F32:
      return use(float{});
    case ValueType::U64:
      return use(uint64_t{});
    case ValueType::I64:
      return use(int64_t{});
    case ValueType::F64:
      return use(double{});
    case ValueType::String:
    case ValueType::Array:
      break;
  }
  fail(Status::Internal, "%s: expected a scalar type", value_type_name(type));
}

inline size_t scalar_bytes(ValueType type) {
  return with_scalar(type, [](auto zero) { return sizeof zero; });
}

inline bool is_scalar(ValueType type) { return type != ValueType::String && type != ValueType::Array; }

template <class T>
T load(const void *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace rz
