// Conversions of half and bfloat16 numbers, against their definition in doubles and at every rounding
// boundary.
#include "quant/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rz {
namespace {

constexpr Half kInfinity = 0x7c00;

// The definition: sign, 5 bits of exponent, 10 of fraction.
double half_value(Half h) {
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return h & 0x8000 ? -magnitude : magnitude;
}

bool is_nan(Half h) { return (h & 0x7fff) > kInfinity; }

TEST(Half, DecodesEveryBitPatternByTheDefinition) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h = static_cast<Half>(bits);
    const float f = half_to_float(h);
    EXPECT_EQ(std::signbit(f), bits >= 0x8000);
    if (is_nan(h)) {
      EXPECT_TRUE(std::isnan(f)) << bits;
    } else if ((h & 0x7fff) == kInfinity) {
      EXPECT_TRUE(std::isinf(f)) << bits;
    } else {
      EXPECT_EQ(f, half_value(h)) << bits;
    }
  }
}

TEST(Half, EveryHalfSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h = static_cast<Half>(bits);
    const Half back = float_to_half(half_to_float(h));
    if (is_nan(h)) {
      EXPECT_TRUE(is_nan(back)) << bits;
    } else {
      EXPECT_EQ(back, h);
    }
  }
}

// Between each pair of neighbours: the middle goes to the even one, the floats beside it to their own side.
TEST(Half, RoundsToNearestWithTiesToEvenAtEveryBoundary) {
  for (uint32_t bits = 0; bits < kInfinity; ++bits) {
    const Half low = static_cast<Half>(bits), high = static_cast<Half>(bits + 1);
    // The neighbour of the largest half, for rounding, is the 65536 that a longer exponent would have had.
    const double above = high == kInfinity ? 65536.0 : half_value(high);
    const float middle = static_cast<float>((half_value(low) + above) / 2);
    const Half even = bits % 2 == 0 ? low : high;
    for (const Half sign : {Half{0}, Half{0x8000}}) {
      const float s = sign ? -1.0f : 1.0f;
      EXPECT_EQ(float_to_half(s * middle), even | sign) << middle;
      EXPECT_EQ(float_to_half(s * std::nextafter(middle, 0.0f)), low | sign) << middle;
      EXPECT_EQ(float_to_half(s * std::nextafter(middle, 1e9f)), high | sign) << middle;
    }
  }
}

TEST(Half, TreatsExtremesAsIeeeDoes) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float_to_half(infinity), 0x7c00);
  EXPECT_EQ(float_to_half(-infinity), 0xfc00);
  EXPECT_EQ(float_to_half(3e38f), 0x7c00);
  EXPECT_EQ(float_to_half(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_half(0.0f), 0x0000);
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::min()), 0x8000);
  EXPECT_TRUE(is_nan(float_to_half(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(is_nan(float_to_half(std::numeric_limits<float>::signaling_NaN())));
}

TEST(Bf16, EveryNumberSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t b = static_cast<uint16_t>(bits);
    const float f = bf16_to_float(b);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(f)))) << bits;
    } else {
      EXPECT_EQ(float_to_bf16(f), b);
    }
  }
}

TEST(Bf16, RoundsToNearestWithTiesToEvenAtEveryBoundary) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const float middle = std::bit_cast<float>(bits << 16 | 0x8000);
    EXPECT_EQ(float_to_bf16(middle), bits + bits % 2);
    EXPECT_EQ(float_to_bf16(-middle), (bits + bits % 2) | 0x8000);
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(bits << 16 | 0x7fff)), bits);
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(bits << 16 | 0x8001)), bits + 1);
  }
}

TEST(Bf16, KeepsNanWhoseUpperBitsAreZero) {
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0xffffffffu)))));
}

}  // namespace
}  // namespace rz
