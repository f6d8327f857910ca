// The host's log callback. One per model: there is no process-wide logger and nothing is written to stdio.
#pragma once

#include <cstdint>

namespace rz {

enum class LogLevel : int32_t { Error = 1, Warn = 2, Info = 3, Debug = 4 };

struct Logger {
  void (*write)(void *user, int32_t level, const char *message) = nullptr;
  void *user = nullptr;
  LogLevel level = LogLevel::Info;  // messages above this level are dropped

  void log(LogLevel at, const char *format, ...) const __attribute__((format(printf, 3, 4)));
};

// Long work reports its share done, 0 to 1; a nonzero answer stops it with Error(Cancelled).
struct Progress {
  int32_t (*report)(void *user, float fraction) = nullptr;
  void *user = nullptr;

  void operator()(float fraction) const;
};

}  // namespace rz
