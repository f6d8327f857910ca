// Q2_K, Q4_K and Q5_K: super-blocks whose sub-blocks have a scale and a minimum each, codes counting up from
// it.
#include "quant/codec.h"
#include "quant/half.h"
#include "quant/range.h"
#include "quant/super_block.h"

namespace rz {
namespace {

// Q4_K and Q5_K: 8 scales and 8 minima of 6 bits in 12 bytes. Bytes 0-3 and 4-7 hold the first four of each
// in their low six bits; bytes 8-11 the low nibbles of the last four (scale low, minimum high), whose upper
// two bits are the top bits of bytes 0-3 and 4-7.
struct ScaleMin {
  int scale, min;
};

ScaleMin unpack_scale_min(const uint8_t *packed, int s) {
  if (s < 4) return {packed[s] & 63, packed[s + 4] & 63};
  return {(packed[s + 4] & 15) | packed[s - 4] >> 6 << 4, packed[s + 4] >> 4 | packed[s] >> 6 << 4};
}

void pack_scale_mins(const LineSuper<8> &e, uint8_t *packed) {
  for (int s = 0; s < 4; ++s) {
    packed[s] = static_cast<uint8_t>(e.scales[s] | e.scales[s + 4] >> 4 << 6);
    packed[s + 4] = static_cast<uint8_t>(e.mins[s] | e.mins[s + 4] >> 4 << 6);
    packed[s + 8] = static_cast<uint8_t>((e.scales[s + 4] & 15) | (e.mins[s + 4] & 15) << 4);
  }
}

// Sub-blocks 2p and 2p + 1 share bytes 32p to 32p + 31: low nibbles, high nibbles.
void pack_nibbles(const int *codes, uint8_t *qs) {
  for (int i = 0; i < kSuperBlock / 2; ++i) {
    const int at = i / 32 * 64 + i % 32;
    qs[i] = static_cast<uint8_t>((codes[at] & 15) | (codes[at + 32] & 15) << 4);
  }
}

}  // namespace

void decode_q2_k(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ2_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b) {
    const float d = half_to_float(b->d), dmin = half_to_float(b->dmin);
    for (int s = 0; s < 16; ++s, weights += 16) {
      const float scale = d * static_cast<float>(b->scales[s] & 15);
      const float min = dmin * static_cast<float>(b->scales[s] >> 4);
      const uint8_t *qs = b->qs + s / 8 * 32 + s % 2 * 16;
      const int shift = s / 2 % 4 * 2;
      for (int j = 0; j < 16; ++j) weights[j] = scale * static_cast<float>((qs[j] >> shift) & 3) - min;
    }
  }
}

void encode_q2_k(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 15, "Q2_K");
  auto *b = static_cast<BlockQ2_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b, weights += kSuperBlock) {
    const LineSuper<16> e = LineEncoder<16, 3, 15>::encode(weights);
    *b = {};
    b->d = e.d;
    b->dmin = e.dmin;
    for (int s = 0; s < 16; ++s) b->scales[s] = static_cast<uint8_t>(e.scales[s] | e.mins[s] << 4);
    for (int i = 0; i < kSuperBlock; ++i) {
      uint8_t &byte = b->qs[i / 128 * 32 + i % 32];
      byte = static_cast<uint8_t>(byte | e.codes[i] << (i / 32 % 4 * 2));
    }
  }
}

void decode_q4_k(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ4_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b) {
    const float d = half_to_float(b->d), dmin = half_to_float(b->dmin);
    for (int s = 0; s < 8; ++s, weights += 32) {
      const ScaleMin sm = unpack_scale_min(b->scales, s);
      const float scale = d * static_cast<float>(sm.scale), min = dmin * static_cast<float>(sm.min);
      const uint8_t *qs = b->qs + s / 2 * 32;
      const int shift = s % 2 * 4;
      for (int j = 0; j < 32; ++j) weights[j] = scale * static_cast<float>((qs[j] >> shift) & 15) - min;
    }
  }
}

void encode_q4_k(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 63, "Q4_K");
  auto *b = static_cast<BlockQ4_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b, weights += kSuperBlock) {
    const LineSuper<8> e = LineEncoder<8, 15, 63>::encode(weights);
    b->d = e.d;
    b->dmin = e.dmin;
    pack_scale_mins(e, b->scales);
    pack_nibbles(e.codes, b->qs);
  }
}

void decode_q5_k(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ5_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b) {
    const float d = half_to_float(b->d), dmin = half_to_float(b->dmin);
    for (int s = 0; s < 8; ++s, weights += 32) {
      const ScaleMin sm = unpack_scale_min(b->scales, s);
      const float scale = d * static_cast<float>(sm.scale), min = dmin * static_cast<float>(sm.min);
      const uint8_t *qs = b->qs + s / 2 * 32;
      const int shift = s % 2 * 4;
      for (int j = 0; j < 32; ++j) {
        const int q = ((qs[j] >> shift) & 15) | ((b->qh[j] >> s) & 1) << 4;
        weights[j] = scale * static_cast<float>(q) - min;
      }
    }
  }
}

void encode_q5_k(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 63, "Q5_K");
  auto *b = static_cast<BlockQ5_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b, weights += kSuperBlock) {
    const LineSuper<8> e = LineEncoder<8, 31, 63>::encode(weights);
    b->d = e.d;
    b->dmin = e.dmin;
    pack_scale_mins(e, b->scales);
    pack_nibbles(e.codes, b->qs);
    for (int j = 0; j < 32; ++j) {
      int bits = 0;
      for (int s = 0; s < 8; ++s) bits |= (e.codes[s * 32 + j] >> 4) << s;
      b->qh[j] = static_cast<uint8_t>(bits);
    }
  }
}

}  // namespace rz
