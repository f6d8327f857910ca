// F32, F16 and BF16: one weight a block. Encoding rounds to nearest, ties to even.
#include <algorithm>
#include <limits>

#include "quant/codec.h"
#include "quant/half.h"
#include "quant/range.h"

namespace rz {
namespace {

constexpr float kHalfLimit = 65519.996f;     // the largest float that rounds to a finite half
constexpr float kBf16Limit = 3.3961774e38f;  // the same for bfloat16

}  // namespace

void decode_f32(const void *blocks, float *weights, int64_t n) {
  std::copy_n(static_cast<const float *>(blocks), n, weights);
}

void encode_f32(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, std::numeric_limits<float>::max(), "F32");
  std::copy_n(weights, n, static_cast<float *>(blocks));
}

void decode_f16(const void *blocks, float *weights, int64_t n) {
  const Half *in = static_cast<const Half *>(blocks);
  for (int64_t i = 0; i < n; ++i) weights[i] = half_to_float(in[i]);
}

void encode_f16(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kHalfLimit, "F16");
  Half *out = static_cast<Half *>(blocks);
  for (int64_t i = 0; i < n; ++i) out[i] = float_to_half(weights[i]);
}

void decode_bf16(const void *blocks, float *weights, int64_t n) {
  const uint16_t *in = static_cast<const uint16_t *>(blocks);
  for (int64_t i = 0; i < n; ++i) weights[i] = bf16_to_float(in[i]);
}

void encode_bf16(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kBf16Limit, "BF16");
  uint16_t *out = static_cast<uint16_t *>(blocks);
  for (int64_t i = 0; i < n; ++i) out[i] = float_to_bf16(weights[i]);
}

}  // namespace rz
