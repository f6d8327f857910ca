// The C boundary. A function of rz.h is a guard around a body that throws: whatever it throws becomes a code
// and a message, and nothing passes into the host.
#pragma once

#include <type_traits>

#include "base/error.h"
#include "rz.h"

namespace rz::api {

// Fills *err as far as its struct_size goes; returns the code.
rz_status report(rz_error *err, Status status, const char *message) noexcept;
// The same with the exception being handled.
rz_status report(rz_error *err) noexcept;

// The body returns nothing, or a status that is no error of its own (a time-out when polling).
template <class Body>
rz_status guard(rz_error *err, Body &&body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return RZ_OK;
    } else {
      return body();
    }
  } catch (...) {
    return report(err);
  }
}

// Throws Argument where a pointer that is needed is NULL.
inline void need(const void *pointer, const char *name) {
  if (!pointer) fail(Status::Argument, "%s: expected a pointer, found NULL", name);
}

}  // namespace rz::api
