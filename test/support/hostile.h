// What every bad input must respect, whoever reads it: an error and not a crash, on a caller's stack of 64
// KiB, in the file's size + 64 MiB of memory, within two seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"

namespace rz::test {

struct Outcome {
  Status status = Status::Ok;  // of the Error thrown; Ok where the call returned
  std::string message;         // what() of whatever was thrown
  bool foreign = false;        // something other than Error was thrown
  std::chrono::duration<double> seconds{};
};

// Calls `work` on a thread with a 64 KiB stack, the address space bounded to what it is + file_bytes + 64
// MiB. Sanitized builds, which need more of both, keep the time and the outcome only.
Outcome run_hostile(uint64_t file_bytes, const std::function<void()> &work);

}  // namespace rz::test
