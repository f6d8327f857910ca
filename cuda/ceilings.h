// What a device can do at most, measured.
#pragma once

#include "backend/backend.h"

namespace rz::cuda {

// Reading memory past the cache, and multiplying halves on the tensor cores: whatever the type of the
// weights, that is the unit which computes their products. For about a second, most of it to take the memory.
Ceilings measure_ceilings(int device);

}  // namespace rz::cuda
