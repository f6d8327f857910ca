// A plugin for tests: the CPU device in a library of its own, which reports progress as a GPU would, says
// that it copies weights, and fails where it is told to.
#pragma once

#include <cstdint>

namespace rz::test {

// Device numbers: 0 and 1 compute; others fail, as named.
enum FakeNumber : int32_t { kFakeName = 2, kFakeCeilings = 3, kFakeMissing = 4 };

// ExecutorOptions::gpu_layers says where an executor fails, and how.
enum FakeFault : int32_t {
  kNoFault,
  kFootprintFails,  // Unsupported
  kCompileNoMemory,
  kWildProgress,      // not a fault, but no order either
  kCompileLost,       // Device
  kKvLayoutFails,     // Limit
  kRunNumeric,        // Numeric
  kRunBadAlloc,       // std::bad_alloc
  kRunStandard,       // std::runtime_error
  kRunUnknown,        // an int
  kRunLongMessage,    // Device, with more text than crosses
  kCopyPageFails,     // Device
  kReadPageFails,     // Io
  kWritePageFails,    // State
  kReadBufferFails,   // Argument
  kProfileFails,      // Busy
  kComputeBytesFails  // Timeout
};

constexpr uint64_t kFakeCopyBytes = 64 << 20;
constexpr int32_t kFakeProgressSteps = 10;
constexpr double kFakeReadRate = 4.25e12;

}  // namespace rz::test
