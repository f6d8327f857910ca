// The checks that keep encoders away from numbers they cannot represent.
#include "quant/range.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "quant/half.h"

namespace rz {

void require_weights(const float *weights, int64_t n, float limit, const char *format) {
  // One pass without branches decides; only a failing tensor is walked again to name the place.
  bool good = true;
  for (int64_t i = 0; i < n; ++i) good &= std::fabs(weights[i]) <= limit;
  if (good) return;
  int64_t at = 0;
  while (std::fabs(weights[at]) <= limit) ++at;
  fail(Status::Numeric, "%s: expected weights within %g, found %g at %lld", format,
       static_cast<double>(limit), static_cast<double>(weights[at]), static_cast<long long>(at));
}

Half nearest_scale(float scale) { return float_to_half(std::clamp(scale, -kMaxHalf, kMaxHalf)); }

Half scale_reaching(float peak, float top) {
  const float magnitude = std::fabs(peak);
  Half h = nearest_scale(magnitude / top);
  // Rounding a normal half loses at most 2^-11 of it.
  if (half_to_float(h) * top < magnitude * 0.999f && h < 0x7bff) ++h;
  return static_cast<Half>(h | (peak < 0 ? 0x8000 : 0));
}

}  // namespace rz
