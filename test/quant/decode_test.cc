// Decoders, bit for bit: literal blocks with values worked out by hand, and every code of every weight and
// every scale of every sub-block against the layouts stated in block_layout.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "quant/block_layout.h"
#include "quant/blocks.h"

namespace rz::test {
namespace {

std::vector<float> decode(Type type, const void *blocks, int64_t n) {
  std::vector<float> weights(static_cast<size_t>(n));
  traits(type).decode(blocks, weights.data(), n);
  return weights;
}

// Compares the whole block, so that a weight which changes its neighbour is noticed too.
void expect_exact(const BlockLayout &layout, const BlockParts &parts, const std::string &what) {
  const std::vector<float> found = decode(layout.type, layout.pack(parts).data(), layout.weights);
  const std::vector<float> expected = layout.expected(parts);
  if (found == expected) return;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], expected[i]) << name_of(layout) << " " << what << ", weight " << i;
  }
}

TEST(Decode, EveryCodeOfEveryWeightChangesThatWeightOnly) {
  for (const BlockLayout &layout : block_layouts()) {
    BlockParts parts = layout.empty_parts();
    for (size_t i = 0; i < parts.codes.size(); ++i) {
      for (int q = 0; q < layout.levels; ++q) {
        parts.codes[i] = q;
        expect_exact(layout, parts, "code " + std::to_string(q) + " of weight " + std::to_string(i));
      }
      parts.codes[i] = 0;
    }
  }
}

TEST(Decode, EveryScaleAndMinimumOfEverySubBlockReachesItsWeightsOnly) {
  for (const BlockLayout &layout : block_layouts()) {
    BlockParts parts = layout.empty_parts();
    for (size_t i = 0; i < parts.codes.size(); ++i) {
      parts.codes[i] = static_cast<int>(i * 5 + 1) % layout.levels;
    }
    for (size_t s = 0; s < parts.scales.size(); ++s) {
      const BlockParts before = parts;
      for (int v = 0; v < layout.scale_levels; ++v) {
        parts.scales[s] = v;
        expect_exact(layout, parts, "scale " + std::to_string(v) + " of sub-block " + std::to_string(s));
      }
      parts = before;
      for (int v = 0; v < layout.min_levels; ++v) {
        parts.mins[s] = v;
        expect_exact(layout, parts, "minimum " + std::to_string(v) + " of sub-block " + std::to_string(s));
      }
      parts = before;
    }
  }
}

TEST(Decode, RandomBlocksInARowMatchTheFormulas) {
  std::mt19937 random(1);
  for (const BlockLayout &layout : block_layouts()) {
    std::vector<uint8_t> blocks;
    std::vector<float> expected;
    for (int b = 0; b < 20; ++b) {
      BlockParts parts = layout.empty_parts();
      for (int &v : parts.scales) v = static_cast<int>(random() % static_cast<uint32_t>(layout.scale_levels));
      for (int &v : parts.mins) v = static_cast<int>(random() % static_cast<uint32_t>(layout.min_levels));
      for (int &v : parts.codes) v = static_cast<int>(random() % static_cast<uint32_t>(layout.levels));
      const std::vector<uint8_t> block = layout.pack(parts);
      const std::vector<float> weights = layout.expected(parts);
      blocks.insert(blocks.end(), block.begin(), block.end());
      expected.insert(expected.end(), weights.begin(), weights.end());
    }
    EXPECT_EQ(decode(layout.type, blocks.data(), 20 * layout.weights), expected) << name_of(layout);
  }
}

TEST(Decode, NoBlocksAtAllTouchNothing) {
  for (int i = 0; i < static_cast<int>(Type::Count); ++i) {
    if (const auto decode = traits(static_cast<Type>(i)).decode) decode(nullptr, nullptr, 0);
  }
}

// ---- by hand
// Halves:
// 0x3800 = 0.5, 0x3c00 = 1, 0x4000 = 2, 0xbc00 = -1, 0x0001 = 2^-24.

TEST(DecodeByHand, FloatsAreThemselves) {
  const uint16_t halves[] = {0x3800, 0xbc00, 0x0001, 0x7bff};
  EXPECT_EQ(decode(Type::F16, halves, 4), (std::vector<float>{0.5f, -1, 0x1p-24f, 65504}));
  const uint16_t bf16[] = {0x3f80, 0xbf80, 0x4049, 0x0080};
  EXPECT_EQ(decode(Type::BF16, bf16, 4), (std::vector<float>{1, -1, 3.140625f, 0x1p-126f}));
  const float floats[] = {1.5f, -0.0f};
  EXPECT_TRUE(std::signbit(decode(Type::F32, floats, 2)[1]));
}

TEST(DecodeByHand, Q4_0HasLowNibblesFirst) {
  BlockQ4_0 b{0x3800, {}};
  b.qs[0] = 0xf0;
  b.qs[15] = 0x0f;
  const auto w = decode(Type::Q4_0, &b, 32);
  EXPECT_EQ(w[0], -4.0f);  // 0.5 (0 - 8)
  EXPECT_EQ(w[16], 3.5f);  // 0.5 (15 - 8)
  EXPECT_EQ(w[15], 3.5f);
  EXPECT_EQ(w[31], -4.0f);
}

TEST(DecodeByHand, Q5_1TakesItsFifthBitsInOrder) {
  BlockQ5_1 b{0x4000, 0xbc00, {0x01, 0, 0, 0x80}, {}};
  b.qs[0] = 0x0f;
  b.qs[15] = 0xf0;
  const auto w = decode(Type::Q5_1, &b, 32);
  EXPECT_EQ(w[0], 61.0f);  // 2 * 31 - 1
  EXPECT_EQ(w[31], 61.0f);
  EXPECT_EQ(w[16], -1.0f);
  EXPECT_EQ(w[15], -1.0f);
}

TEST(DecodeByHand, Q8_0IsSigned) {
  BlockQ8_0 b{0x3800, {-128, 127}};
  const auto w = decode(Type::Q8_0, &b, 32);
  EXPECT_EQ(w[0], -64.0f);
  EXPECT_EQ(w[1], 63.5f);
  EXPECT_EQ(w[2], 0.0f);
}

TEST(DecodeByHand, Q2_KSubtractsMinimaFromCodes) {
  BlockQ2_K b{};
  b.d = 0x3c00;
  b.dmin = 0x3800;
  b.scales[0] = 0x2f;   // scale 15, minimum 2
  b.scales[15] = 0xf1;  // scale 1, minimum 15
  b.qs[0] = 0x03;       // weight 0: 3, weights 32, 64, 96: 0
  b.qs[63] = 0x80;      // weight 255: 2
  const auto w = decode(Type::Q2_K, &b, 256);
  EXPECT_EQ(w[0], 44.0f);  // 15 * 3 - 0.5 * 2
  EXPECT_EQ(w[1], -1.0f);
  EXPECT_EQ(w[255], -5.5f);  // 1 * 2 - 0.5 * 15
  EXPECT_EQ(w[254], -7.5f);
}

TEST(DecodeByHand, Q3_KHighBitMeansNoFourSubtracted) {
  BlockQ3_K b{};
  b.d = 0x3c00;
  b.scales[0] = 0x0f;  // scale 0: low bits 15, scale 8: low bits 0
  b.scales[8] = 0x03;  // scale 0: high bits 3, so 63 - 32 = 31; scales 4, 8, 12: 0 - 32 = -32 with low bits 0
  b.qs[0] = 0x03;
  b.hmask[0] = 0x01;
  const auto w = decode(Type::Q3_K, &b, 256);
  EXPECT_EQ(w[0], 93.0f);     // 31 * (7 - 4)
  EXPECT_EQ(w[1], -124.0f);   // 31 * (0 - 4)
  EXPECT_EQ(w[128], 128.0f);  // -32 * (0 - 4)
}

TEST(DecodeByHand, Q4_KScalesPastTheFourthBorrowTheirUpperBits) {
  BlockQ4_K b{};
  b.d = 0x3c00;
  b.dmin = 0x3c00;
  b.scales[0] = 0xff;  // scale 0 = 63, upper bits of scale 4 = 3
  b.scales[4] = 0x41;  // minimum 0 = 1, upper bits of minimum 4 = 1
  b.scales[8] = 0x2a;  // scale 4 = 48 + 10, minimum 4 = 16 + 2
  b.qs[0] = 0x0f;      // weight 0: 15, weight 32: 0
  b.qs[64] = 0x01;     // weight 128 (sub-block 4): 1
  const auto w = decode(Type::Q4_K, &b, 256);
  EXPECT_EQ(w[0], 944.0f);  // 63 * 15 - 1
  EXPECT_EQ(w[1], -1.0f);
  EXPECT_EQ(w[128], 40.0f);  // 58 - 18
  EXPECT_EQ(w[129], -18.0f);
}

TEST(DecodeByHand, Q5_KHasOneHighBitPerSubBlock) {
  BlockQ5_K b{};
  b.d = 0x3800;
  b.scales[0] = 2;
  b.scales[1] = 1;
  b.qh[0] = 0x02;  // fifth bit of weight 32
  b.qs[0] = 0xf1;
  const auto w = decode(Type::Q5_K, &b, 256);
  EXPECT_EQ(w[0], 1.0f);    // 0.5 * 2 * 1
  EXPECT_EQ(w[32], 15.5f);  // 0.5 * 1 * 31
}

TEST(DecodeByHand, Q6_KHasSignedScales) {
  BlockQ6_K b{};
  b.d = 0x3800;
  b.scales[0] = -128;
  b.scales[15] = 127;
  b.ql[127] = 0xf0;  // weight 255: low bits 15
  b.qh[63] = 0xc0;   // weight 255: upper bits 3
  const auto w = decode(Type::Q6_K, &b, 256);
  EXPECT_EQ(w[0], 2048.0f);     // 0.5 * -128 * (0 - 32)
  EXPECT_EQ(w[255], 1968.5f);   // 0.5 * 127 * (63 - 32)
  EXPECT_EQ(w[254], -2032.0f);  // 0.5 * 127 * (0 - 32)
}

TEST(DecodeByHand, Iq4UsesTheBook) {
  BlockIQ4_NL n{0x3800, {}};
  n.qs[0] = 0xf0;
  EXPECT_EQ(decode(Type::IQ4_NL, &n, 32)[0], -63.5f);
  EXPECT_EQ(decode(Type::IQ4_NL, &n, 32)[16], 56.5f);
  BlockIQ4_XS x{0x3c00, 0xc000, {}, {}};  // scale 7 = 48 + 15 - 32, the others -32
  x.scales_l[3] = 0xf0;
  x.qs[112] = 0x08;
  const auto w = decode(Type::IQ4_XS, &x, 256);
  EXPECT_EQ(w[224], 31.0f);     // 31 * 1
  EXPECT_EQ(w[225], -3937.0f);  // 31 * -127
  EXPECT_EQ(w[0], 4064.0f);     // -32 * -127
}

}  // namespace
}  // namespace rz::test
