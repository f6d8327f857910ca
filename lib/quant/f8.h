// 8-bit floats, which KV pages may be made of: OCP e4m3, a sign, 4 bits of exponent (bias 7) and 3 of
// fraction. The largest is 448, there is no infinity, and magnitude 0x7f is NaN. Kernels decode them as
// halves (cuda/kernels/attention_page.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "base/both_sides.h"

namespace rz {

using F8 = uint8_t;  // its bits

// Rounds to nearest, ties to even; past the range gives 448. Infinity gives NaN: what has overflowed on the
// way here must not look like a number.
RZ_BOTH_SIDES F8 float_to_f8(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  const uint32_t sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000) return static_cast<F8>(sign | 0x7f);
  if (magnitude >= 0x43e00000) return static_cast<F8>(sign | 0x7e);  // 448
  if (magnitude < 0x3c800000) {                        // below 2^-6: a subnormal is a multiple of 2^-9
    const float shifted = (f < 0 ? -f : f) + 0x1p14f;  // float's own rounding at 2^-9
    std::memcpy(&bits, &shifted, sizeof bits);
    return static_cast<F8>(sign | (bits - 0x46800000));
  }
  const uint32_t odd = magnitude >> 20 & 1;
  return static_cast<F8>(sign | ((magnitude - 0x3c000000 + 0x7ffff + odd) >> 20));
}

}  // namespace rz
