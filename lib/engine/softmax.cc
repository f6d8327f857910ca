#include "engine/softmax.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "cpu/isa.h"

namespace rz {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of the host's best set, whatever device computed the logits: all sets give the same bits.
const cpu::Kernels &kernels() {
  static const cpu::Kernels &best = cpu::choose_kernels();
  return best;
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
  const float result = kernels().largest_logit(logits.data(), static_cast<int64_t>(logits.size()));
  if (std::isinf(result)) refuse(logits);
  return result;
}

float exp_weight(float x) { return kernels().exp_weight(x); }

ExpSums exp_sums(std::span<const float> logits, float max, float scale) {
  return kernels().exp_sums(logits.data(), static_cast<int64_t>(logits.size()), max, scale);
}

}  // namespace rz
