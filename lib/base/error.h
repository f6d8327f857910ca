// Errors inside the library. Code below the C boundary throws Error; lib/api turns it into an rz_status and a
// message for people. A message names subject, expectation and find:
// `blk.3.attn_q.weight: expected 4096x4096, found 4096x2048`.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace rz {

// The codes of rz_status, with the same values (lib/api checks that at compile time).
enum class Status : int32_t {
  Ok = 0,
  Argument = -1,
  NoMemory = -2,
  Io = -3,
  Format = -4,
  Unsupported = -5,
  Limit = -6,
  Context = -7,
  Device = -8,
  Busy = -9,
  State = -10,
  Template = -11,
  Grammar = -12,
  Numeric = -13,
  Buffer = -14,
  Cancelled = -15,
  Timeout = -16,
  Internal = -17
};

class Error : public std::exception {
 public:
  Error(Status status, std::string message) : status_(status), message_(std::move(message)) {}
  Status status() const noexcept { return status_; }
  const char *what() const noexcept override { return message_.c_str(); }

 private:
  Status status_;
  std::string message_;
};

// Throws Error with a printf-style message.
[[noreturn]] void fail(Status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace rz
