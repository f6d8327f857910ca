// Results that go to the caller's buffer: *count is what is needed, whether it fits or not.
#pragma once

#include <cstring>
#include <limits>
#include <string_view>

#include "api/guard.h"

namespace rz::api {

// Throws Buffer where `needed` is more than the capacity. Sets *count before that.
inline void check_capacity(size_t needed, const void *buffer, size_t capacity, size_t *count) {
  need(count, "count");
  *count = needed;
  if (needed == 0) return;
  if (capacity < needed) fail(Status::Buffer, "buffer: %zu needed, capacity is %zu", needed, capacity);
  need(buffer, "buffer");
}

// A text argument: NULL is fine only when it is empty; RZ_ZSTR means up to the NUL.
inline std::string_view text_argument(const char *text, size_t length, const char *name) {
  if (length == 0 && !text) return {};
  need(text, name);
  if (length == RZ_ZSTR) length = std::strlen(text);
  if (length > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    fail(Status::Limit, "%s: expected at most %d bytes, found %zu", name, std::numeric_limits<int32_t>::max(),
         length);
  }
  return {text, length};
}

}  // namespace rz::api
