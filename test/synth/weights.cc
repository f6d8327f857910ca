// The pools of encoded weights, and the small tensors that are computed: norms, biases, rope factors.
#include "weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace rz::synth {
namespace {

constexpr int64_t kStrip = 256;     // weights; every format's blocks divide it
constexpr uint32_t kStrips = 2048;  // in a pool: half a million weights, a tenth of a second to encode

// What Llama 3.1 divides each frequency by: nothing where it turns often within 8192 tokens, the whole factor
// where it turns less than once, a ramp between 1 and 4 turns.
float llama3_rope_factor(const Shape &shape, int64_t pair) {
  constexpr double kTrained = 8192, kFew = 1, kMany = 4;
  const double exponent = 2 * static_cast<double>(pair) / shape.head_dim;
  const double frequency = std::pow(static_cast<double>(shape.rope_base), -exponent);
  const double turns = kTrained * frequency / (2 * std::numbers::pi);
  const double kept = std::clamp((turns - kFew) / (kMany - kFew), 0.0, 1.0);
  return static_cast<float>(1 / ((1 - kept) / static_cast<double>(shape.variant.llama3_rope_factor) + kept));
}

}  // namespace

const Weights::Pool &Weights::pool(Type type, int64_t row) {
  Pool &pool = pools_[{type, row}];
  if (!pool.empty()) return pool;
  std::vector<float> weights(kStrip * kStrips);
  const float deviation = 1 / std::sqrt(static_cast<float>(row));
  for (float &weight : weights) weight = deviation * noise_.gaussian();
  pool.resize(bytes_of(type, weights.size()));
  traits(type).encode(weights.data(), pool.data(), static_cast<int64_t>(weights.size()));
  return pool;
}

std::vector<float> Weights::vector_of(const Tensor &tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (tensor.fill) {
      case Fill::Norm:
        values[i] = 1 + 0.05f * noise_.gaussian();
        break;
      case Fill::RopeFactors:
        values[i] = llama3_rope_factor(shape_, static_cast<int64_t>(i));
        break;
      default:
        values[i] = 0.1f * noise_.gaussian();
    }
  }
  return values;
}

void Weights::deal(const Tensor &tensor, Type type, int64_t n, std::byte *out) {
  if (tensor.fill != Fill::Weights) {
    traits(type).encode(vector_of(tensor).data(), out, n);
    return;
  }
  const Pool &from = pool(type, tensor.dims[0]);
  const uint64_t strip_bytes = bytes_of(type, kStrip);
  for (int64_t done = 0; done < n; done += kStrip) {
    const uint64_t bytes = bytes_of(type, static_cast<uint64_t>(std::min(kStrip, n - done)));
    std::memcpy(out, from.data() + noise_.below(kStrips) * strip_bytes, bytes);
    out += bytes;
  }
}

}  // namespace rz::synth
