// Encoders: the error they leave, on tame and on wild data, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "quant/block_layout.h"
#include "support/error_of.h"
#include "support/relative_error.h"

namespace rz::test {
namespace {

constexpr int64_t kWeights = 64 * 256;

std::vector<float> decode(Type type, const std::vector<uint8_t> &blocks, int64_t n) {
  std::vector<float> weights(static_cast<size_t>(n));
  traits(type).decode(blocks.data(), weights.data(), n);
  return weights;
}

std::vector<uint8_t> encode(Type type, const std::vector<float> &weights) {
  std::vector<uint8_t> blocks(bytes_of(type, weights.size()));
  traits(type).encode(weights.data(), blocks.data(), static_cast<int64_t>(weights.size()));
  return blocks;
}

std::vector<float> there_and_back(Type type, const std::vector<float> &weights) {
  return decode(type, encode(type, weights), static_cast<int64_t>(weights.size()));
}

// Sums of uniform numbers rather than std::normal_distribution, whose draws differ between standard
// libraries.
class Source {
 public:
  float gaussian() {
    float sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<float>(random_() >> 8) * 0x1p-24f;
    return sum;
  }
  std::vector<float> tame(int64_t n, float scale = 0.02f) {
    std::vector<float> out(static_cast<size_t>(n));
    for (float &w : out) w = gaussian() * scale;
    return out;
  }
  // One weight in 64 is 20 times as large.
  std::vector<float> wild(int64_t n) {
    std::vector<float> out = tame(n);
    for (float &w : out) w *= random_() % 64 == 0 ? 20.0f : 1.0f;
    return out;
  }

 private:
  std::mt19937 random_{1};
};

std::vector<Type> weight_types() {
  std::vector<Type> types;
  for (int i = 0; i < static_cast<int>(Type::Count); ++i) {
    if (traits(static_cast<Type>(i)).encode) types.push_back(static_cast<Type>(i));
  }
  return types;
}

TEST(Encode, LeavesLittleErrorOnTameAndOnWildData) {
  struct Bound {
    Type type;
    double tame, wild;  // relative error
  };
  // A twentieth above what the encoders reach on much data.
  const Bound bounds[] = {
      {Type::F32, 0, 0},          {Type::F16, 3e-4, 3e-4},      {Type::BF16, 2.1e-3, 2.1e-3},
      {Type::Q4_0, 0.087, 0.154}, {Type::Q4_1, 0.074, 0.106},   {Type::Q5_0, 0.043, 0.093},
      {Type::Q5_1, 0.036, 0.052}, {Type::Q8_0, 0.0057, 0.012},  {Type::Q2_K, 0.283, 0.211},
      {Type::Q3_K, 0.156, 0.156}, {Type::Q4_K, 0.0745, 0.106},  {Type::Q5_K, 0.037, 0.0535},
      {Type::Q6_K, 0.018, 0.034}, {Type::IQ4_NL, 0.079, 0.126}, {Type::IQ4_XS, 0.080, 0.128},
  };
  for (const Bound &b : bounds) {
    Source source;
    const std::vector<float> tame = source.tame(kWeights), wild = source.wild(kWeights);
    EXPECT_LE(relative_error(there_and_back(b.type, tame), tame), b.tame) << traits(b.type).name;
    EXPECT_LE(relative_error(there_and_back(b.type, wild), wild), b.wild) << traits(b.type).name;
  }
  EXPECT_EQ(std::size(bounds), weight_types().size());
}

TEST(Encode, ErrorDoesNotDependOnTheMagnitudeOfTheWeights) {
  for (const Type type : weight_types()) {
    Source small_source, large_source;
    const std::vector<float> small = small_source.tame(kWeights), large = large_source.tame(kWeights, 2000);
    const double small_error = relative_error(there_and_back(type, small), small);
    const double large_error = relative_error(there_and_back(type, large), large);
    EXPECT_NEAR(large_error, small_error, small_error * 0.03) << traits(type).name;
  }
}

TEST(Encode, GivesTheSameBytesEveryTime) {
  for (const Type type : weight_types()) {
    Source source;
    const std::vector<float> weights = source.wild(kWeights);
    EXPECT_EQ(encode(type, weights), encode(type, weights)) << traits(type).name;
    // And each block alone, so that work can be cut anywhere.
    const std::vector<uint8_t> whole = encode(type, weights);
    const std::vector<float> tail(weights.end() - 256, weights.end());
    const std::vector<uint8_t> alone = encode(type, tail);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.end() - static_cast<int64_t>(alone.size())))
        << traits(type).name;
  }
}

TEST(Encode, ZerosStayZero) {
  for (const Type type : weight_types()) {
    const std::vector<float> zeros(512, 0.0f);
    EXPECT_EQ(there_and_back(type, zeros), zeros) << traits(type).name;
    std::vector<float> half_zero = zeros;
    Source source;
    for (size_t i = 256; i < 512; ++i) half_zero[i] = source.gaussian();
    const std::vector<float> back = there_and_back(type, half_zero);
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 256, zeros.begin())) << traits(type).name;
  }
}

// The scale of small constants is a subnormal half in IQ4_XS, half a percent off.
TEST(Encode, ConstantsSurvive) {
  for (const Type type : weight_types()) {
    for (const float value : {1.0f, -1.0f, 0.013f, -300.0f}) {
      const std::vector<float> weights(256, value);
      EXPECT_LE(relative_error(there_and_back(type, weights), weights), 0.006)
          << traits(type).name << " " << value;
    }
  }
}

// What was decoded lies on the grid, so encoding it again should find that grid: to within rounding for the
// formats whose largest weight fixes the scale, near enough for those that search.
TEST(Encode, ASecondTimeAddsNextToNothing) {
  for (const Type type : weight_types()) {
    Source source;
    const std::vector<float> weights = source.tame(kWeights);
    const std::vector<float> once = there_and_back(type, weights), twice = there_and_back(type, once);
    const double first = relative_error(once, weights), second = relative_error(twice, once);
    EXPECT_LE(second, first * 0.2) << traits(type).name;
  }
  for (const Type type : {Type::F32, Type::F16, Type::BF16, Type::Q8_0}) {
    Source source;
    const std::vector<float> once = there_and_back(type, source.tame(kWeights));
    EXPECT_EQ(there_and_back(type, once), once) << traits(type).name;
  }
}

// Scales below 6e-5 are subnormal halves, those below 6e-8 do not exist: the error grows, but nothing
// explodes.
TEST(Encode, TinyWeightsNeverGrow) {
  for (const Type type : weight_types()) {
    for (const float scale : {1e-5f, 1e-6f, 1e-7f, 1e-9f, 1e-20f, 1e-38f, 1e-44f}) {
      Source source;
      const std::vector<float> weights = source.tame(2048, scale);
      const std::vector<float> back = there_and_back(type, weights);
      for (size_t i = 0; i < back.size(); ++i) {
        ASSERT_TRUE(std::isfinite(back[i])) << traits(type).name << " " << scale;
        ASSERT_LE(std::fabs(back[i]), 8 * scale + 6e-8f) << traits(type).name << " " << scale;
      }
    }
  }
}

TEST(Encode, UsesTheSubnormalScalesThatExist) {
  // 127 steps of the smallest half are 7.6e-6; the block below needs 1.3 of them a step and must not be cut
  // off.
  std::vector<float> weights(32, 0.0f);
  weights[3] = 1e-5f;
  EXPECT_NEAR(there_and_back(Type::Q8_0, weights)[3], 1e-5f, 1.2e-7f);
}

TEST(Encode, LargeWeightsReachTheirLimitAndNoFurther) {
  for (const Type type : weight_types()) {
    // The largest power of two that the format takes keeps its value.
    float largest = 1;
    const auto takes = [&](float w) {
      std::vector<float> weights(256, 0.0f);
      weights[77] = w;
      try {
        return std::fabs(there_and_back(type, weights)[77] / w - 1) < 0.02f;
      } catch (const Error &error) {
        EXPECT_EQ(error.status(), Status::Numeric);
        return false;
      }
    };
    while (largest < 1e38f && takes(largest * 2)) largest *= 2;
    EXPECT_GE(largest, 32768) << traits(type).name;
    EXPECT_TRUE(takes(-largest)) << traits(type).name;
    if (type == Type::F32 || type == Type::BF16) continue;
    std::vector<float> weights(256, 0.0f);
    weights[77] = 1e12f;
    const Error error = error_of([&] { encode(type, weights); });
    EXPECT_EQ(error.status(), Status::Numeric) << traits(type).name;
  }
}

TEST(Encode, RefusesNanAndInfinitySayingWhere) {
  for (const Type type : weight_types()) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
      std::vector<float> weights(512, 0.5f);
      weights[300] = bad;
      const Error error = error_of([&] { encode(type, weights); });
      EXPECT_EQ(error.status(), Status::Numeric);
      EXPECT_NE(std::string(error.what()).find(traits(type).name), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("at 300"), std::string::npos) << error.what();
    }
  }
}

TEST(Encode, FloatsRoundToNearest) {
  const std::vector<float> weights{1.0f, 1.0f + 0x1p-11f, 1.0f + 0x1.8p-10f, -65519.0f, 0x1p-25f, 0x1.8p-25f};
  EXPECT_EQ(there_and_back(Type::F16, weights),
            (std::vector<float>{1.0f, 1.0f, 1.0f + 0x1p-9f, -65504.0f, 0.0f, 0x1p-24f}));
  const Error error = error_of([] { encode(Type::F16, {70000.0f}); });
  EXPECT_EQ(error.status(), Status::Numeric);
}

}  // namespace
}  // namespace rz::test
