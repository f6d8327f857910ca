#include "engine/sequence.h"

#include <new>

namespace rz {

void Timeline::reserve(int32_t n) {
  const auto count = static_cast<size_t>(n);
  tokens.reserve(count);
  kv.tokens.reserve(count);
  kv.pages.reserve(count / kPageTokens + 1);
  kv.hashes.reserve(count / kPageTokens + 1);
}

void Sequence::failed(const Error &why) {
  error = why;
  over = true;
}

Error current_error() {
  try {
    throw;
  } catch (const Error &error) {
    return error;
  } catch (const std::bad_alloc &) {
    return Error(Status::NoMemory, "out of memory");  // short enough to need none
  } catch (const std::exception &error) {
    return Error(Status::Internal, error.what());
  }
}

}  // namespace rz
