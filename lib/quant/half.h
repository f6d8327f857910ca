// Half and bfloat16 numbers, bit by bit, for code that is not hot and must not depend on the processor. The
// kernels convert with the processor's own instructions; the results are the same.
#pragma once

#include <bit>
#include <cstdint>

#include "quant/blocks.h"

namespace rz {

inline float half_to_float(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t rest = static_cast<uint32_t>(h & 0x7fff) << 13;
  // 2^112 moves the exponent from half's bias (15) to float's (127), subnormals included; infinities and NaN
  // keep an all-ones exponent by hand.
  if ((h & 0x7c00) == 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | rest);
  const float magnitude = std::bit_cast<float>(rest) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// Rounds to nearest, ties to even; past the range gives infinity.
inline Half float_to_half(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<Half>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return static_cast<Half>(sign | 0x7c00);  // rounds past 65504
  if (magnitude < 0x38800000) {  // below 2^-14: a subnormal half is a multiple of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;  // float's own rounding at 2^-24
    return static_cast<Half>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t odd = (magnitude >> 13) & 1;
  return static_cast<Half>(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

inline float bf16_to_float(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

// Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t float_to_bf16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 64);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace rz
