// The plan's weights on the device: matrices as tiles, vectors as floats. Whatever the plan names is copied
// once, however often it is named. Blocks travel as the file has them, through two stretches of host memory,
// and become tiles there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "backend/backend.h"
#include "cuda/runtime.h"
#include "cuda/tiles.h"

namespace rz::cuda {

// Throws Unsupported, naming the matrix, for a type that has no format on the device.
Format format_of(const Matrix &matrix);

class DeviceWeights {
 public:
  // Reports how many of the file's bytes are there.
  DeviceWeights(Queue &queue, const Plan &plan, const Progress &progress);
  static uint64_t bytes(const Plan &plan);  // that this would take, without data

  Tiles tiles(const Matrix &matrix) const;          // rows 0 = none
  const float *floats(const Vector &vector) const;  // null = none
  const float *matrix_floats(const Matrix &matrix) const {
    return reinterpret_cast<const float *>(tiles(matrix).data);
  }

 private:
  using Key = std::pair<const void *, int64_t>;  // where it lies in the file, rows
  static Key key_of(const Matrix &matrix);
  static Key key_of(const Vector &vector);
  template <class OnCopied>
  void copy_matrix(Queue &queue, const Matrix &matrix, std::byte *out, OnCopied on_copied);

  // While one stretch is on its way, the next is filled.
  struct Staging {
    HostMemory host;
    DeviceMemory device;
    std::unique_ptr<Queue::Mark> used;  // reached when the device is done with it
    bool in_use = false;
  };
  static constexpr size_t kStagings = 2;

  DeviceMemory memory_;
  std::map<Key, uint64_t> at_;  // offset in memory_
  std::array<Staging, kStagings> staging_;
  size_t turn_ = 0;
};

}  // namespace rz::cuda
