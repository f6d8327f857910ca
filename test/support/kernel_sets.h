// The kernel sets that this processor can run, for tests that check every one of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "cpu/isa.h"

namespace rz::test {

inline std::vector<std::string> kernel_sets() {
  std::vector<std::string> names;
  for (const char *name : {"plain", "avx2", "avx512"}) {
    try {
      cpu::choose_kernels(name);
      names.push_back(name);
    } catch (const Error &) {  // not on this processor
    }
  }
  return names;
}

}  // namespace rz::test
