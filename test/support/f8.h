// 8-bit floats by their definition, to compare with: slow, and written down without a look at the library's.
#pragma once

#include <cmath>
#include <cstdint>

namespace rz::test {

// Sign, 4 bits of exponent, 3 of fraction.
inline double f8_value(uint8_t code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
}

// The code that lies nearest, of two as near the even one; NaN for what is no finite number.
inline uint8_t nearest_f8(double x) {
  constexpr int kNan = 0x7f;
  int best = 0;
  if (!std::isfinite(x)) best = kNan;
  for (int code = 1; code < kNan && best != kNan; ++code) {
    const double before = std::abs(f8_value(static_cast<uint8_t>(best)) - std::abs(x));
    const double now = std::abs(f8_value(static_cast<uint8_t>(code)) - std::abs(x));
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return static_cast<uint8_t>(best | (std::signbit(x) ? 0x80 : 0));
}

}  // namespace rz::test
