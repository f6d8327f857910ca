// The plain formats: blocks of 32 weights with one half-precision scale, and a minimum for the _1 kinds.
#include "quant/codec.h"
#include "quant/fit.h"
#include "quant/half.h"
#include "quant/range.h"

namespace rz {
namespace {

constexpr int kPair = kBlock / 2;  // weight j shares its byte with weight j + 16

// The fifth bits of codes 0 .. 31 as Q5_0 and Q5_1 store them.
uint32_t load_high_bits(const uint8_t *qh) {
  return qh[0] | static_cast<uint32_t>(qh[1]) << 8 | static_cast<uint32_t>(qh[2]) << 16 |
         static_cast<uint32_t>(qh[3]) << 24;
}

int high_bit(uint32_t bits, int j) { return static_cast<int>((bits >> j) & 1) << 4; }

void pack_nibbles(const int *codes, uint8_t *qs) {
  for (int j = 0; j < kPair; ++j) {
    qs[j] = static_cast<uint8_t>((codes[j] & 15) | (codes[j + kPair] & 15) << 4);
  }
}

void pack_high_bits(const int *codes, uint8_t *qh) {
  for (int i = 0; i < 4; ++i) {
    int bits = 0;
    for (int j = 0; j < 8; ++j) bits |= (codes[i * 8 + j] >> 4) << j;
    qh[i] = static_cast<uint8_t>(bits);
  }
}

// One scale, codes of 0 .. 2 Top - 1 standing for -Top .. Top - 1.
template <int Top>
Half encode_scaled(const float *x, int *codes) {
  float importance[kBlock];
  square_importance<kBlock>(x, importance);
  const float fitted = fit_scale<IntegerGrid<Top>, kBlock>(x, importance);
  const Half d = scale_reaching(fitted * Top, Top);
  const float scale = half_to_float(d);
  const float inverse = scale != 0 ? 1 / scale : 0;
  for (int j = 0; j < kBlock; ++j) codes[j] = IntegerGrid<Top>::code(x[j] * inverse) + Top;
  return d;
}

// A scale and a minimum, codes of 0 .. Top.
template <int Top>
void encode_line(const float *x, Half &d, Half &m, int *codes) {
  float importance[kBlock];
  linear_importance<kBlock>(x, importance);
  const Line fitted = fit_line<kBlock>(x, importance, Top, Offset::Any);
  d = scale_reaching(fitted.scale * Top, Top);
  m = nearest_scale(fitted.offset);
  const float scale = half_to_float(d), offset = half_to_float(m);
  const float inverse = scale > 0 ? 1 / scale : 0;
  for (int j = 0; j < kBlock; ++j) codes[j] = static_cast<int>(line_code(x[j], inverse, offset, Top));
}

}  // namespace

void decode_q4_0(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ4_0 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    const float d = half_to_float(b->d);
    for (int j = 0; j < kPair; ++j) {
      weights[j] = d * static_cast<float>((b->qs[j] & 15) - 8);
      weights[j + kPair] = d * static_cast<float>((b->qs[j] >> 4) - 8);
    }
  }
}

void encode_q4_0(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 8, "Q4_0");
  auto *b = static_cast<BlockQ4_0 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    int codes[kBlock];
    b->d = encode_scaled<8>(weights, codes);
    pack_nibbles(codes, b->qs);
  }
}

void decode_q4_1(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ4_1 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    const float d = half_to_float(b->d), m = half_to_float(b->m);
    for (int j = 0; j < kPair; ++j) {
      weights[j] = d * static_cast<float>(b->qs[j] & 15) + m;
      weights[j + kPair] = d * static_cast<float>(b->qs[j] >> 4) + m;
    }
  }
}

void encode_q4_1(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf, "Q4_1");
  auto *b = static_cast<BlockQ4_1 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    int codes[kBlock];
    encode_line<15>(weights, b->d, b->m, codes);
    pack_nibbles(codes, b->qs);
  }
}

void decode_q5_0(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ5_0 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    const float d = half_to_float(b->d);
    const uint32_t high = load_high_bits(b->qh);
    for (int j = 0; j < kPair; ++j) {
      weights[j] = d * static_cast<float>(((b->qs[j] & 15) | high_bit(high, j)) - 16);
      weights[j + kPair] = d * static_cast<float>(((b->qs[j] >> 4) | high_bit(high, j + kPair)) - 16);
    }
  }
}

void encode_q5_0(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 16, "Q5_0");
  auto *b = static_cast<BlockQ5_0 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    int codes[kBlock];
    b->d = encode_scaled<16>(weights, codes);
    pack_nibbles(codes, b->qs);
    pack_high_bits(codes, b->qh);
  }
}

void decode_q5_1(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ5_1 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    const float d = half_to_float(b->d), m = half_to_float(b->m);
    const uint32_t high = load_high_bits(b->qh);
    for (int j = 0; j < kPair; ++j) {
      weights[j] = d * static_cast<float>((b->qs[j] & 15) | high_bit(high, j)) + m;
      weights[j + kPair] = d * static_cast<float>((b->qs[j] >> 4) | high_bit(high, j + kPair)) + m;
    }
  }
}

void encode_q5_1(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf, "Q5_1");
  auto *b = static_cast<BlockQ5_1 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    int codes[kBlock];
    encode_line<31>(weights, b->d, b->m, codes);
    pack_nibbles(codes, b->qs);
    pack_high_bits(codes, b->qh);
  }
}

void decode_q8_0(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ8_0 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    const float d = half_to_float(b->d);
    for (int j = 0; j < kBlock; ++j) weights[j] = d * static_cast<float>(b->qs[j]);
  }
}

// Eight bits need no search: the largest weight gets code 127 or -127.
void encode_q8_0(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 127, "Q8_0");
  auto *b = static_cast<BlockQ8_0 *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    float peak = 0;
    for (int j = 0; j < kBlock; ++j) peak = std::max(peak, std::fabs(weights[j]));
    b->d = peak < kNothing ? Half{0} : scale_reaching(peak, 127);
    const float scale = half_to_float(b->d);
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (int j = 0; j < kBlock; ++j) {
      b->qs[j] = static_cast<int8_t>(std::clamp(round_even(weights[j] * inverse), -127.0f, 127.0f));
    }
  }
}

}  // namespace rz
