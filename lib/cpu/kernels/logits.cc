// Passes over the logits of a whole vocabulary. Sixteen lanes grow side by side, whatever registers they
// take.
#include "cpu/kernels/logits.h"

#include "cpu/kernels/simd.h"

namespace rz::cpu::RZ_ISA {

namespace {

constexpr float kInfinity = __builtin_inff();
constexpr float kLowest = -87;  // e^-87 is the last power whose float is normal
// Summed in float before the double takes over: 8 sums a lane keep the error below 1e-6.
constexpr int64_t kChunk = 8 * 16;

// Lanes past n are -infinity, which adds nothing.
RZ_INLINE Floats load_logits(const float *p, int64_t n) {
  if (n >= 16) return load(p);
  float padded[16];
  store(padded, splat(-kInfinity));
  std::memcpy(padded, p, static_cast<size_t>(n) * sizeof(float));
  return load(padded);
}

// Two maxima: one alone would wait for itself.
float largest(const float *logits, int64_t n) {
  const Floats infinity = splat(kInfinity);
  Floats most[2] = {splat(-kInfinity), splat(-kInfinity)};
  for (int64_t i = 0; i < n; i += 32) {
    for (int64_t j = 0; j < 2 && i + 16 * j < n; ++j) {
      const Floats v = load_logits(logits + i + 16 * j, n - i - 16 * j);
      most[j] = max(select_below(v, infinity, v, infinity), most[j]);  // NaN is not below
    }
  }
  return maximum(max(most[0], most[1]));
}

// e^x for x <= 0, 0 below kLowest: 2^n e^r with |r| <= ln(2) / 2; e^r by its Taylor polynomial of degree 7,
// whose remainder is below 1e-8 there.
RZ_INLINE Floats exp_apart(Floats x, Floats clamped) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // ln 2; the high part has 9 bits
  const Floats n = round(mul(clamped, splat(kLog2e)));
  const Floats r = sub(sub(clamped, mul(n, splat(kLn2High))), mul(n, splat(kLn2Low)));
  Floats p = splat(1.0f / 5040);
  p = add(mul(p, r), splat(1.0f / 720));
  p = add(mul(p, r), splat(1.0f / 120));
  p = add(mul(p, r), splat(1.0f / 24));
  p = add(mul(p, r), splat(1.0f / 6));
  p = add(mul(p, r), splat(0.5f));
  p = add(mul(p, r), splat(1.0f));
  p = add(mul(p, r), splat(1.0f));
  return zero_where_below(scale_by_power(p, to_ints(n)), x, splat(kLowest));
}

float exp_weight(float x) {
  const Floats v = splat(x);
  float lanes[16];
  store(lanes, exp_apart(v, max(splat(kLowest), v)));
  return lanes[0];
}

ExpSums exp_sums(const float *logits, int64_t n, float max_logit, float scale) {
  ExpSums sums;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t end = first + kChunk < n ? first + kChunk : n;
    Floats weights = zeros(), weighted = zeros();
    for (int64_t i = first; i < end; i += 16) {
      const Floats x = mul(sub(load_logits(logits + i, n - i), splat(max_logit)), splat(scale));
      const Floats clamped = max(splat(kLowest), x), w = exp_apart(x, clamped);
      weights = add(weights, w);
      weighted = add(weighted, mul(w, clamped));
    }
    sums.weights += static_cast<double>(sum(weights));
    sums.weighted += static_cast<double>(sum(weighted));
  }
  return sums;
}

}  // namespace

void fill_logits(Kernels &table) {
  table.largest_logit = largest;
  table.exp_weight = exp_weight;
  table.exp_sums = exp_sums;
}

}  // namespace rz::cpu::RZ_ISA
