// What an encoder may rely on: weights inside the range its format can reach, and scales that survive being
// stored as half-precision numbers.
#pragma once

#include <cstdint>

#include "quant/blocks.h"

namespace rz {

constexpr float kMaxHalf = 65504.0f;

// Throws Numeric, naming the first offender, unless all n weights are numbers of magnitude at most `limit`.
void require_weights(const float *weights, int64_t n, float limit, const char *format);

// The scale that lets codes up to `top` (> 0) reach `peak`: peak / top, rounded to nearest where halves are
// dense, up where they are subnormal and nearest could fall far short. The sign is peak's; 0 only for 0.
Half scale_reaching(float peak, float top);

// Rounds a fitted scale to half; past the range it becomes the largest finite one.
Half nearest_scale(float scale);

}  // namespace rz
