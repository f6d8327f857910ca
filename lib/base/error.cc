#include "base/error.h"

#include <cstdarg>
#include <cstdio>

namespace rz {

void fail(Status status, const char *format, ...) {
  char message[504];  // what rz_error holds; longer messages are cut there anyway
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  throw Error(status, message);
}

}  // namespace rz
