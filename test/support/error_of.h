// The error that a call throws, so that a test can look at its code and its message.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace rz::test {

template <class F>
Error error_of(F &&call) {
  try {
    call();
  } catch (const Error &error) {
    return error;
  }
  ADD_FAILURE() << "expected an error";
  return Error(Status::Ok, "");
}

// Its status, Ok where nothing is thrown; the message goes to *message.
template <class F>
Status status_of(F &&call, std::string *message = nullptr) {
  try {
    call();
  } catch (const Error &error) {
    if (message) *message = error.what();
    return error.status();
  }
  return Status::Ok;
}

}  // namespace rz::test
