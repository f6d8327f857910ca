// The passes over a whole vocabulary: largest logit and sums of exponentials. The same logits give the same
// bits on every machine.
#pragma once

#include <span>

#include "cpu/kernels.h"

namespace rz {

// The largest logit. Throws Numeric, naming the token, when one is NaN or +infinity, and when all are
// -infinity.
float max_logit(std::span<const float> logits);

// e^x for x <= 0, within 2e-7 of its value; 0 below -87. The same in every sum below.
float exp_weight(float x);

using cpu::ExpSums;  // with x_i = (logits_i - max) * scale
// `max` is no smaller than any logit; scale > 0 and finite.
ExpSums exp_sums(std::span<const float> logits, float max, float scale);

}  // namespace rz
