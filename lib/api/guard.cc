#include "api/guard.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace rz::api {

namespace {

constexpr bool same(Status status, rz_status code) { return static_cast<rz_status>(status) == code; }
static_assert(same(Status::Ok, RZ_OK) && same(Status::Argument, RZ_E_ARGUMENT) &&
              same(Status::NoMemory, RZ_E_NOMEM) && same(Status::Io, RZ_E_IO) &&
              same(Status::Format, RZ_E_FORMAT) && same(Status::Unsupported, RZ_E_UNSUPPORTED) &&
              same(Status::Limit, RZ_E_LIMIT) && same(Status::Context, RZ_E_CONTEXT) &&
              same(Status::Device, RZ_E_DEVICE) && same(Status::Busy, RZ_E_BUSY) &&
              same(Status::State, RZ_E_STATE) && same(Status::Template, RZ_E_TEMPLATE) &&
              same(Status::Grammar, RZ_E_GRAMMAR) && same(Status::Numeric, RZ_E_NUMERIC) &&
              same(Status::Buffer, RZ_E_BUFFER) && same(Status::Cancelled, RZ_E_CANCELLED) &&
              same(Status::Timeout, RZ_E_TIMEOUT) && same(Status::Internal, RZ_E_INTERNAL));

}  // namespace

rz_status report(rz_error *err, Status status, const char *message) noexcept {
  const auto code = static_cast<rz_status>(status);
  const size_t head = offsetof(rz_error, message);
  if (!err || err->struct_size <= head) return code;
  err->code = code;
  const size_t room = std::min<size_t>(err->struct_size, sizeof *err) - head;
  const size_t length = std::min(std::strlen(message), room - 1);
  std::memcpy(err->message, message, length);
  err->message[length] = 0;
  return code;
}

rz_status report(rz_error *err) noexcept {
  try {
    throw;
  } catch (const Error &error) {
    return report(err, error.status(), error.what());
  } catch (const std::bad_alloc &) {
    return report(err, Status::NoMemory, "out of memory");
  } catch (const std::exception &error) {
    return report(err, Status::Internal, error.what());
  } catch (...) {
    return report(err, Status::Internal, "unknown exception");
  }
}

}  // namespace rz::api
