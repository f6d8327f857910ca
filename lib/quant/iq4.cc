// IQ4_NL and IQ4_XS: four-bit codes into a fixed book of 16 levels, denser near zero, as weights are.
#include <bit>

#include "quant/codec.h"
#include "quant/half.h"
#include "quant/range.h"
#include "quant/super_block.h"

namespace rz {
namespace {

// Nearest code for every half step of -128 .. 127.5. The midpoints between levels are whole or half numbers,
// so all values within one half step share their nearest code.
constexpr auto kNearestCode = [] {
  std::array<uint8_t, 512> table{};
  for (int i = 0; i < 512; ++i) {
    uint8_t code = 0;
    while (code < 15 && i - 256 >= kIq4Values[code] + kIq4Values[code + 1]) ++code;
    table[static_cast<size_t>(i)] = code;
  }
  return table;
}();

constexpr auto kNearestLevel = [] {
  std::array<float, 512> table{};
  for (size_t i = 0; i < 512; ++i) table[i] = kIq4Values[kNearestCode[i]];
  return table;
}();

struct BookGrid {
  static constexpr std::array<float, 2> edges{-127, 113};
  static constexpr float step = 1;
  static size_t half_step(float v) {
    // Adding 256 first makes truncation a floor.
    return static_cast<size_t>(static_cast<int>(std::min(std::max(2 * v + 256, 0.0f), 511.0f)));
  }
  static float level(float v) { return kNearestLevel[half_step(v)]; }
  static int code(float v) { return kNearestCode[half_step(v)]; }
};

}  // namespace

void decode_iq4_nl(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockIQ4_NL *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    const float d = half_to_float(b->d);
    for (int j = 0; j < 16; ++j) {
      weights[j] = d * static_cast<float>(kIq4Values[b->qs[j] & 15]);
      weights[j + 16] = d * static_cast<float>(kIq4Values[b->qs[j] >> 4]);
    }
  }
}

void encode_iq4_nl(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 113, "IQ4_NL");
  auto *b = static_cast<BlockIQ4_NL *>(blocks);
  for (; n > 0; n -= kBlock, ++b, weights += kBlock) {
    float importance[kBlock];
    square_importance<kBlock>(weights, importance);
    b->d = scale_reaching(fit_scale<BookGrid, kBlock>(weights, importance) * 127, 127);
    const float scale = half_to_float(b->d);
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (int j = 0; j < 16; ++j) {
      const int low = BookGrid::code(weights[j] * inverse), high = BookGrid::code(weights[j + 16] * inverse);
      b->qs[j] = static_cast<uint8_t>(low | high << 4);
    }
  }
}

void decode_iq4_xs(const void *blocks, float *weights, int64_t n) {
  const auto *b = static_cast<const BlockIQ4_XS *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b) {
    const float d = half_to_float(b->d);
    for (int s = 0; s < 8; ++s, weights += 32) {
      const int low = (b->scales_l[s / 2] >> (s % 2 * 4)) & 15, high = (b->scales_h >> (2 * s)) & 3;
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      const uint8_t *qs = b->qs + s * 16;
      for (int j = 0; j < 16; ++j) {
        weights[j] = scale * static_cast<float>(kIq4Values[qs[j] & 15]);
        weights[j + 16] = scale * static_cast<float>(kIq4Values[qs[j] >> 4]);
      }
    }
  }
}

void encode_iq4_xs(const float *weights, void *blocks, int64_t n) {
  require_weights(weights, n, kMaxHalf * 31 * 113, "IQ4_XS");
  auto *b = static_cast<BlockIQ4_XS *>(blocks);
  for (; n > 0; n -= kSuperBlock, ++b, weights += kSuperBlock) {
    const ScaledSuper<8> e = ScaledEncoder<BookGrid, 8, 32>::encode(weights);
    *b = {};
    b->d = e.d;
    for (int s = 0; s < 8; ++s) {
      const int scale = e.scales[s] + 32;
      b->scales_l[s / 2] = static_cast<uint8_t>(b->scales_l[s / 2] | (scale & 15) << (s % 2 * 4));
      b->scales_h = static_cast<uint16_t>(b->scales_h | (scale >> 4) << (2 * s));
      for (int j = 0; j < 16; ++j) {
        b->qs[s * 16 + j] = static_cast<uint8_t>(e.codes[s * 32 + j] | e.codes[s * 32 + j + 16] << 4);
      }
    }
  }
}

}  // namespace rz
