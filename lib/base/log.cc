#include "base/log.h"

#include <cstdarg>
#include <cstdio>

#include "base/error.h"

namespace rz {

void Logger::log(LogLevel at, const char *format, ...) const {
  if (!write || at > level) return;
  char message[1024];  // longer messages are cut
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  write(user, static_cast<int32_t>(at), message);
}

void Progress::operator()(float fraction) const {
  if (report && report(user, fraction) != 0) fail(Status::Cancelled, "stopped by the progress callback");
}

}  // namespace rz
