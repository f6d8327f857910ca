// Logarithm and powers from sums, products and quotients alone, so that they have the same bits on every
// machine, whatever its mathematical library. Both within an ulp or two.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/both_sides.h"

namespace rz {

constexpr double kLn2 = 0.69314718055994530942;
// Kernels may use constants, but not the functions behind them.
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallestNormal = std::numeric_limits<double>::min();

// The natural logarithm; -infinity of 0, NaN below.
RZ_BOTH_SIDES double natural_log(double x) {
  // ln 2 in two parts: the high one has 33 bits, so its product with an exponent is exact.
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  if (!(x > 0)) return x == 0 ? -kInfinite : kNoNumber;
  if (x == kInfinite) return x;
  int32_t exponent = -1023;
  if (x < kSmallestNormal) {
    x *= 0x1p54;
    exponent -= 54;
  }
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  exponent += static_cast<int32_t>(bits >> 52);
  bits = (bits & 0xfffffffffffff) | uint64_t{1023} << 52;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // ln(1 + f) = 2 artanh(s) = 2 s + s r with s = f / (2 + f), and 2 s = f - s f; the series of r ends where
  // s^2 < 0.0295 has made its terms smaller than 2^-56.
  const double f = m - 1, s = f / (2 + f), z = s * s;
  double r = 0;
  for (int k = 21; k >= 3; k -= 2) r = (r + 2.0 / k) * z;
  const double e = exponent;
  return e * kLn2High - ((s * (f - r) - e * kLn2Low) - f);
}

// 2^k, for k in -1022 .. 1023
RZ_BOTH_SIDES double exact_power_of_two(int32_t k) {
  const uint64_t bits = static_cast<uint64_t>(k + 1023) << 52;
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// 2^x
RZ_BOTH_SIDES double power_of_two(double x) {
  if (x >= 1025) return kInfinite;
  if (x <= -1080) return 0;
  if (!(x == x)) return x;
  const int32_t n = static_cast<int32_t>(x + (x < 0 ? -0.5 : 0.5));
  const double r = (x - n) * kLn2;  // at most 0.35: the series ends where r^k / k! < 2^-56
  double p = 1;
  for (int k = 13; k >= 1; --k) p = 1 + p * r / k;
  const int32_t half = n / 2;  // two steps, for results that are not normal numbers
  return p * exact_power_of_two(half) * exact_power_of_two(n - half);
}

// x^y for x >= 0
RZ_BOTH_SIDES double power(double x, double y) { return power_of_two(y * natural_log(x) / kLn2); }

}  // namespace rz
