// The passes over a whole vocabulary: largest logit and sums of exponentials, four lanes at a time in one
// fixed order, so that the same logits give the same sums on every machine.
#pragma once

#include <span>

namespace rz {

// The largest logit. Throws Numeric, naming the token, when one is NaN or +infinity, and when all are
// -infinity.
float max_logit(std::span<const float> logits);

// e^x for x <= 0, within 2e-7 of its value; 0 below -87. The same in every sum below.
float exp_weight(float x);

struct ExpSums {
  double weights = 0;   // sum of w_i = e^x_i, where x_i = (logits_i - max) * scale
  double weighted = 0;  // sum of w_i x_i, for the entropy: ln(weights) - weighted / weights
};
// `max` is no smaller than any logit; scale > 0 and finite.
ExpSums exp_sums(std::span<const float> logits, float max, float scale);

}  // namespace rz
