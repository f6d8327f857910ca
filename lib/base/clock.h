// Time that only goes forward, for budgets and profiles.
#pragma once

#include <chrono>
#include <cstdint>

namespace rz {

inline uint64_t now_us() {
  using namespace std::chrono;
  return static_cast<uint64_t>(duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count());
}

}  // namespace rz
