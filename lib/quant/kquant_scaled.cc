// Q3_K and Q6_K: super-blocks of 16 sub-blocks with a signed scale each and codes around zero.
#include "quant/codec.h"
#include "quant/half.h"
#include "quant/range.h"
#include "quant/super_block.h"

namespace rz {
namespace {

constexpr int kSubs = 16;
constexpr int kSub = kSuperBlock / kSubs;

// 16 scales of 6 bits: the low nibbles of bytes 0-7 are the low four bits of scales 0-7, the high nibbles
// those of 8-15; bytes 8-11 hold the upper two bits, of scale i in byte 8 + i % 4 at bit 2 (i / 4).
int unpack_scale(const uint8_t *packed, int i) {
  const int low = (packed[i % 8] >> (i / 8 * 4)) & 15;
  const int high = (packed[8 + i % 4] >> (i / 4 * 2)) & 3;
  return low | high << 4;
}

void pack_scale(uint8_t *packed, int i, int scale) {
  packed[i % 8] = static_cast<uint8_t>(packed[i % 8] | (scale & 15) << (i / 8 * 4));
  packed[8 + i % 4] = static_cast<uint8_t>(packed[8 + i % 4] | (scale >> 4) << (i / 4 * 2));
}

}  // namespace

void decode_q3_k(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ3_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b) {
    const float d = half_to_float(b->d);
    for (int s = 0; s < kSubs; ++s, weights += kSub) {
      const float scale = d * static_cast<float>(unpack_scale(b->scales, s) - 32);
      const int group = s / 2, at = s % 2 * kSub;  // group of 32 weights, place in it
      const uint8_t *low = b->qs + s / 8 * 32 + at, *high = b->hmask + at;
      for (int j = 0; j < kSub; ++j) {
        const int q = ((low[j] >> (group % 4 * 2)) & 3) | ((high[j] >> group) & 1) << 2;
        weights[j] = scale * static_cast<float>(q - 4);
      }
    }
  }
}

void encode_q3_k(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 31 * 3, "Q3_K");
  auto *b = static_cast<BlockQ3_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b, weights += kSuperBlock) {
    const ScaledSuper<kSubs> e = ScaledEncoder<IntegerGrid<4>, kSubs, 32>::encode(weights);
    *b = {};
    b->d = e.d;
    for (int s = 0; s < kSubs; ++s) pack_scale(b->scales, s, e.scales[s] + 32);
    for (int i = 0; i < kSuperBlock; ++i) {
      const int q = e.codes[i] + 4, group = i / 32, at = i % 32;
      uint8_t &low = b->qs[i / 128 * 32 + at], &high = b->hmask[at];
      low = static_cast<uint8_t>(low | (q & 3) << (group % 4 * 2));
      high = static_cast<uint8_t>(high | (q >> 2) << group);
    }
  }
}

void decode_q6_k(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockQ6_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b) {
    const float d = half_to_float(b->d);
    for (int s = 0; s < kSubs; ++s, weights += kSub) {
      const float scale = d * static_cast<float>(b->scales[s]);
      const int group = s / 2 % 4, at = s % 2 * kSub;  // group of 32 weights within its 128, place in it
      const uint8_t *low = b->ql + s / 8 * 64 + group % 2 * 32 + at, *high = b->qh + s / 8 * 32 + at;
      for (int j = 0; j < kSub; ++j) {
        const int q = ((low[j] >> (group / 2 * 4)) & 15) | ((high[j] >> (group * 2)) & 3) << 4;
        weights[j] = scale * static_cast<float>(q - 32);
      }
    }
  }
}

void encode_q6_k(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 127 * 31, "Q6_K");
  auto *b = static_cast<BlockQ6_K *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b, weights += kSuperBlock) {
    const ScaledSuper<kSubs> e = ScaledEncoder<IntegerGrid<32>, kSubs, 128>::encode(weights);
    *b = {};
    b->d = e.d;
    for (int s = 0; s < kSubs; ++s) b->scales[s] = static_cast<int8_t>(e.scales[s]);
    for (int i = 0; i < kSuperBlock; ++i) {
      const int q = e.codes[i] + 32, group = i / 32 % 4, at = i % 32;
      uint8_t &low = b->ql[i / 128 * 64 + group % 2 * 32 + at], &high = b->qh[i / 128 * 32 + at];
      low = static_cast<uint8_t>(low | (q & 15) << (group / 2 * 4));
      high = static_cast<uint8_t>(high | (q >> 4) << (group * 2));
    }
  }
}

}  // namespace rz
