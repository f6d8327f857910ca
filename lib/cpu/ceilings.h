// What this machine can do at most with a kernel set and a number of threads: the figures that a model's
// speed is compared with.
#pragma once

#include "backend/backend.h"
#include "cpu/kernels.h"

namespace rz::cpu {

// Takes about a second. Throws NoMemory where the system has no buffer to read.
Ceilings measure_ceilings(const Kernels &kernels, int32_t threads);

}  // namespace rz::cpu
