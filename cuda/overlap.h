// For timing alone: what it gives that a kernel may begin before the one ahead of it has ended.
#pragma once

#include "cuda/runtime.h"

namespace rz::cuda {

// Whether kernels launched, or recorded, from now on may. They may at first, and the executor leaves it so.
void let_overlap(Queue &queue, bool allowed);

}  // namespace rz::cuda
