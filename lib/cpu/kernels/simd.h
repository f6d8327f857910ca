// The vector vocabulary that all CPU kernels are written in: 16 floats, 16 ints, 16 and 32 shorts, 32 and 64
// bytes, whatever registers they take. One header per instruction set gives the words their meaning; lane
// order, rounding and reduction trees are the same in all of them, so a kernel computes the same function
// everywhere.
//
// Every kernel file is compiled once per set into namespace rz::cpu::RZ_ISA. Nothing here may call an inline
// function that another set's object could share: the linker would keep one copy, perhaps with instructions
// the machine lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define RZ_INLINE inline __attribute__((always_inline))

#if defined(RZ_AVX512)
#include "cpu/kernels/simd_avx512.h"
#elif defined(RZ_AVX2)
#include "cpu/kernels/simd_avx2.h"
#else
#include "cpu/kernels/simd_plain.h"
#endif

namespace rz::cpu::RZ_ISA {

// ---- what follows from the words above, the same for every set

RZ_INLINE Floats load_some(const float *p, int64_t n) {  // lanes past n are 0
  if (n >= 16) return load(p);
  float padded[16] = {};
  std::memcpy(padded, p, static_cast<size_t>(n) * sizeof(float));
  return load(padded);
}

RZ_INLINE void store_some(float *p, Floats v, int64_t n) {
  if (n >= 16) return store(p, v);
  float padded[16];
  store(padded, v);
  std::memcpy(p, padded, static_cast<size_t>(n) * sizeof(float));
}

// e^x within 2 ulp for x <= 88; 0 below -87.3. Range reduction by ln 2 in two parts, then a polynomial of
// degree 6 (Cephes' coefficients for expf).
RZ_INLINE Floats exp(Floats x) {
  const Floats low = splat(-87.3f);
  const Floats clamped = max(low, min(splat(88.0f), x));  // in this order NaN stays NaN
  const Floats n = round(mul(clamped, splat(1.44269504088896341f)));
  Floats r = fma(n, splat(-0.693359375f), clamped);
  r = fma(n, splat(2.12194440e-4f), r);
  Floats p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  p = add(fma(mul(p, r), r, r), splat(1.0f));
  return zero_where_below(scale_by_power(p, to_ints(n)), x, low);
}

RZ_INLINE Floats sigmoid(Floats x) { return div(splat(1.0f), add(splat(1.0f), exp(sub(zeros(), x)))); }

// tanh x = 1 - 2 / (e^2x + 1); near 0 the odd polynomial x - x^3/3 + 2x^5/15 - 17x^7/315 keeps the digits.
RZ_INLINE Floats tanh(Floats x) {
  const Floats big = sub(splat(1.0f), div(splat(2.0f), add(exp(add(x, x)), splat(1.0f))));
  const Floats s = mul(x, x);
  Floats p = splat(-17.0f / 315);
  p = fma(p, s, splat(2.0f / 15));
  p = fma(p, s, splat(-1.0f / 3));
  const Floats small = fma(mul(p, s), x, x);
  return select_below(s, splat(0.04f), small, big);
}

}  // namespace rz::cpu::RZ_ISA
