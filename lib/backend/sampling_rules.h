// What all samplers have in common, whatever device they run on: the numbers and formulas that decide which
// token a seed draws.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/elementary.h"
#include "base/philox.h"

namespace rz {

// Numbers of a step's stream: each stage has its own, so that turning one on leaves the others' draws alone.
constexpr uint32_t kDrawNumber = 0, kXtcNumber = 1;

// ---- the ranking: (score descending, id ascending), gathered in windows below the best, each twice as deep.
// Sums are taken over the whole vocabulary until the last window has come, then in the order of the ranks.
constexpr float kFirstWindow = 4;  // e^-4: nearly all of a usual distribution's mass lies above
constexpr float kLastWindow = 64;  // below e^-64 nothing is ever drawn: the rest comes in one window

// Ascending keys are descending scores, then ascending ids.
RZ_BOTH_SIDES uint64_t rank_key(float score, uint32_t token) {
  score += 0.0f;  // -0 and 0 are equal
  uint32_t bits;
  std::memcpy(&bits, &score, sizeof bits);
  const uint32_t descending = bits >> 31 ? bits : ~(bits | 0x80000000u);
  return static_cast<uint64_t>(descending) << 32 | token;
}
RZ_BOTH_SIDES int32_t ranked_token(uint64_t key) { return static_cast<int32_t>(static_cast<uint32_t>(key)); }

// ---- penalties

// Of a token that stood `count` times in the window; `repeat` > 0.
RZ_BOTH_SIDES float penalized(float logit, float repeat, float presence, float frequency, int32_t count) {
  logit = logit > 0 ? logit / repeat : logit * repeat;
  return logit - (presence + frequency * static_cast<float>(count));
}

// DRY counts matches up to this length; it bounds the stage's memory, and a penalty is long decisive there.
constexpr int32_t kLongestDryMatch = 1024;

// Of the token that followed a match `excess` tokens longer than allowed.
RZ_BOTH_SIDES float dry_penalty(float multiplier, float base, int32_t excess) {
  constexpr double kLargest = 1e30;  // a ban in effect, and the logit stays a number
  double power = 1, square = static_cast<double>(base);
  for (; excess > 0; excess >>= 1, square *= square) {
    if (excess & 1) power *= square;
  }
  const double penalty = static_cast<double>(multiplier) * power;
  return static_cast<float>(penalty < kLargest ? penalty : kLargest);
}

// ---- mirostat
constexpr int32_t kZipfTokens = 100;  // the paper's m: the exponent is estimated from so many

// In bits; log_total: ln of the sum of e^logit over the vocabulary.
RZ_BOTH_SIDES double surprise(float logit, double log_total) {
  return (log_total - static_cast<double>(logit)) / kLn2;
}

// How many tokens of a Zipf law with exponent s over n >= 2 have surprises that average to mu bits: 1 to n.
RZ_BOTH_SIDES int32_t zipf_count(double s, double mu, int32_t n) {
  const double epsilon = s - 1;
  const double share = epsilon < 1e-9 && epsilon > -1e-9
                           ? 1 / natural_log(n)
                           : epsilon / (1 - power(static_cast<double>(n), -epsilon));
  const double count = power(share * power_of_two(mu), 1 / s);
  if (count >= n) return n;
  return count >= 1 ? static_cast<int32_t>(count + 0.5) : 1;  // NaN keeps the best alone
}

}  // namespace rz
