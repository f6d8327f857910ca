// The error that a call throws, so that a test can look at its code and its message.
#pragma once

#include <gtest/gtest.h>

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

}  // namespace rz::test
