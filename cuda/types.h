// Words, halves and grids, for kernels and for the host code that starts them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rz::cuda {

using Half = uint16_t;   // its bits
using Half2 = uint32_t;  // two, the first in the low 16 bits

struct alignas(8) Words2 {
  uint32_t x, y;
};
struct alignas(16) Words4 {
  uint32_t x, y, z, w;
};

constexpr int kWarp = 32;

struct Grid {
  uint32_t x = 1, y = 1, z = 1;
};

}  // namespace rz::cuda
