// A plugin for tests: the CPU device in a library of its own, which reports progress as a GPU would, says
// that it copies weights, and fails where it is told to.
#pragma once

#include <cstdint>

namespace rz::test {

// Device numbers: 0 and 1 compute; others fail, or have room for so many layers, as named.
enum FakeNumber : int32_t {
  kFakeName = 2,
  kFakeCeilings = 3,
  kFakeMissing = 4,
  kFakeFree = 5,
  kFakeRoomForOne = 6,
  kFakeRoomForNone = 7,
  kFakeLongName = 8
};

// ExecutorOptions::gpu_layers says where an executor fails, and how; as a number of layers each is all of
// them.
enum FakeFault : int32_t {
  kNoFault,
  kFootprintFails = 1000,  // Unsupported
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
  kWriteBufferFails,  // Limit
  kProfileFails,      // Busy
  kComputeBytesFails  // Timeout
};

constexpr uint64_t kFakeLayerBytes = 32 << 20;            // the copy of one layer's weights
constexpr uint64_t kFakeCopyBytes = 2 * kFakeLayerBytes;  // of the tiny models, whose layers are two
constexpr int32_t kFakeProgressSteps = 10;
constexpr double kFakeReadRate = 4.25e12;

}  // namespace rz::test
