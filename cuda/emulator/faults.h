// What a test may make the emulated device do: have little memory, be missing, fail in the middle of its
// work.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace rz::cuda::emulator {

struct Faults {
  std::atomic<bool> no_device{false};
  std::atomic<uint64_t> memory_bytes{uint64_t{1} << 34};
  std::atomic<uint64_t> used_bytes{0};
  // Added to the seed of each kernel's schedule; odd ones reverse blocks, and let the device be far ahead of
  // what is waited for.
  std::atomic<uint64_t> seed{0};
  std::atomic<int64_t> launches_left{-1};  // until the device is lost; negative = it never is
  std::atomic<bool> lost{false};

  void count_launch() {
    if (launches_left.load() < 0) return;
    if (launches_left.fetch_sub(1) == 0) lost = true;
  }
  void check() const {
    if (lost) fail(Status::Device, "cuda: uncorrectable ECC error encountered (emulated)");
  }
};

inline Faults &faults() {
  static Faults all;
  return all;
}

}  // namespace rz::cuda::emulator
