// exp by range reduction and a polynomial, in four-lane vectors of the compiler's own (SSE2, NEON): no
// library's exp, whose last bit depends on the machine, and none of its cost.
#include "engine/softmax.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace rz {
namespace {

using Floats = float __attribute__((vector_size(16)));
using Ints = int32_t __attribute__((vector_size(16)));

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kLanes = 4, kUnroll = 4, kStride = kLanes * kUnroll;
// Summed in float before the double takes over: 8 sums a lane keep the error below 1e-6.
constexpr size_t kChunk = 8 * kStride;
constexpr float kLowest = -87;  // e^-87 is the last power whose float is normal

Floats splat(float x) { return Floats{x, x, x, x}; }
Floats load(const float *p) {
  Floats v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
Floats choose(Ints mask, Floats yes, Floats no) {
  return reinterpret_cast<Floats>((mask & reinterpret_cast<Ints>(yes)) |
                                  (~mask & reinterpret_cast<Ints>(no)));
}

// e^x for kLowest <= x <= 0: 2^n e^r with |r| <= ln(2) / 2; e^r by its Taylor polynomial of degree 7, whose
// remainder is below 1e-8 there.
Floats exp_reduced(Floats x) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // ln 2; the high part has 9 bits
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const Floats shifted = x * splat(kLog2e) + splat(kRound);
  const Floats n = shifted - splat(kRound);
  const Floats r = (x - n * splat(kLn2High)) - n * splat(kLn2Low);
  Floats p = splat(1.0f / 5040);
  p = p * r + splat(1.0f / 720);
  p = p * r + splat(1.0f / 120);
  p = p * r + splat(1.0f / 24);
  p = p * r + splat(1.0f / 6);
  p = p * r + splat(0.5f);
  p = p * r + splat(1.0f);
  p = p * r + splat(1.0f);
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(p) + (reinterpret_cast<Ints>(shifted) << 23));
}

Floats exp_clamped(Floats x, Floats &clamped) {
  const Ints in_range = x >= splat(kLowest);
  clamped = choose(in_range, x, splat(kLowest));
  return choose(in_range, exp_reduced(clamped), splat(0));
}

double lane_sum(const Floats (&sums)[kUnroll]) {
  const Floats s = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return (static_cast<double>(s[0]) + static_cast<double>(s[1])) +
         (static_cast<double>(s[2]) + static_cast<double>(s[3]));
}

// p: (n), n a multiple of kStride and at most kChunk
void add_chunk(const float *p, size_t n, Floats max, Floats scale, ExpSums &out) {
  Floats weights[kUnroll] = {}, weighted[kUnroll] = {};
  for (size_t i = 0; i < n; i += kStride) {
    for (size_t k = 0; k < kUnroll; ++k) {
      Floats x;
      const Floats w = exp_clamped((load(p + i + k * kLanes) - max) * scale, x);
      weights[k] += w;
      weighted[k] += w * x;
    }
  }
  out.weights += lane_sum(weights);
  out.weighted += lane_sum(weighted);
}

[[noreturn]] void refuse(std::span<const float> logits) {
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] < kInfinity) continue;
    const char *found = std::isnan(logits[i]) ? "nan" : "inf";
    fail(Status::Numeric, "logit of token %zu: expected a number, found %s", i, found);
  }
  fail(Status::Numeric, "logits: expected at least one above -inf, found none in %zu", logits.size());
}

}  // namespace

float max_logit(std::span<const float> logits) {
  Floats max[kUnroll] = {splat(-kInfinity), splat(-kInfinity), splat(-kInfinity), splat(-kInfinity)};
  Ints good = {-1, -1, -1, -1};
  const auto take = [&](const float *p) {
    for (size_t k = 0; k < kUnroll; ++k) {
      const Floats v = load(p + k * kLanes);
      good &= v < splat(kInfinity);  // false for NaN too
      max[k] = choose(v > max[k], v, max[k]);
    }
  };
  const size_t whole = logits.size() / kStride * kStride;
  for (size_t i = 0; i < whole; i += kStride) take(logits.data() + i);
  float tail[kStride];
  for (size_t i = 0; i < kStride; ++i) {
    tail[i] = whole + i < logits.size() ? logits[whole + i] : -kInfinity;
  }
  take(tail);

  float result = -kInfinity;
  for (const Floats &m : max) {
    for (size_t lane = 0; lane < kLanes; ++lane) result = m[lane] > result ? m[lane] : result;
  }
  if (!(good[0] & good[1] & good[2] & good[3]) || result == -kInfinity) refuse(logits);
  return result;
}

float exp_weight(float x) {
  Floats clamped;
  return exp_clamped(splat(x), clamped)[0];
}

ExpSums exp_sums(std::span<const float> logits, float max, float scale) {
  ExpSums sums;
  const Floats maxes = splat(max), scales = splat(scale);
  const size_t whole = logits.size() / kStride * kStride;
  for (size_t i = 0; i < whole; i += kChunk) {
    add_chunk(logits.data() + i, whole - i < kChunk ? whole - i : kChunk, maxes, scales, sums);
  }
  float tail[kStride];
  for (size_t i = 0; i < kStride; ++i) {
    tail[i] = whole + i < logits.size() ? logits[whole + i] : -kInfinity;
  }
  add_chunk(tail, kStride, maxes, scales, sums);
  return sums;
}

}  // namespace rz
