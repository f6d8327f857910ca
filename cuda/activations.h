// The plan's buffers on the device. The residual stream and what is added up stay floats; what a matrix is
// multiplied with is kept as halves, which the tensor cores take, each row padded with zeros to whole steps
// of 64 columns.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "cuda/runtime.h"

namespace rz::cuda {

struct HalfRows {
  Half *data = nullptr;  // (rows, stride)
  int32_t stride = 0;
  float unscale = 1;    // value = half * unscale
  int32_t per_row = 1;  // of these rows to one of the batch: the slots of a mixture
  int32_t width = 0;
};

class Activations {
 public:
  Activations(Queue &queue, const Plan &plan, int32_t max_rows);
  static uint64_t bytes(const Plan &plan, int32_t max_rows);

  float *floats(BufferId id) const;                                                       // (rows, width)
  const HalfRows &halves(BufferId id) const { return halves_[static_cast<size_t>(id)]; }  // data null = none
  // Whether a router or a comparison reads the buffer as floats although it has halves.
  bool wants_floats(BufferId id) const { return wants_floats_[static_cast<size_t>(id)]; }

 private:
  const Plan &plan_;
  int32_t max_rows_;
  DeviceMemory floats_, half_memory_;
  std::vector<HalfRows> halves_;  // by buffer
  std::vector<bool> wants_floats_;
};

}  // namespace rz::cuda
