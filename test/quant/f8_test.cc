// Rounding to 8-bit floats, against their definition: at every boundary, for every half, and for floats all
// over their range.
#include "quant/f8.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "quant/half.h"
#include "support/f8.h"

namespace rz::test {
namespace {

constexpr int kNan = 0x7f, kLargest = 0x7e;

TEST(F8, EveryCodeSurvivesTheWayToFloatAndBack) {
  for (int code = 0; code < 256; ++code) {
    const float f = static_cast<float>(f8_value(static_cast<uint8_t>(code)));
    if ((code & kNan) == kNan) {
      EXPECT_EQ(float_to_f8(f) & kNan, kNan);
    } else {
      EXPECT_EQ(float_to_f8(f), code);
    }
  }
}

// Between each pair of neighbours: the middle goes to the even one, the floats beside it to their own side.
TEST(F8, RoundsToNearestWithTiesToEvenAtEveryBoundary) {
  for (int low = 0; low < kLargest; ++low) {
    const int high = low + 1, even = low % 2 == 0 ? low : high;
    const auto middle =
        static_cast<float>((f8_value(static_cast<uint8_t>(low)) + f8_value(static_cast<uint8_t>(high))) / 2);
    for (const int sign : {0, 0x80}) {
      const float s = sign ? -1.0f : 1.0f;
      EXPECT_EQ(float_to_f8(s * middle), even | sign) << middle;
      EXPECT_EQ(float_to_f8(s * std::nextafter(middle, 0.0f)), low | sign) << middle;
      EXPECT_EQ(float_to_f8(s * std::nextafter(middle, 1e9f)), high | sign) << middle;
    }
  }
}

TEST(F8, RoundsEveryHalfToTheNearestCode) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float f = half_to_float(static_cast<Half>(bits));
    ASSERT_EQ(float_to_f8(f), nearest_f8(static_cast<double>(f))) << f;
  }
}

TEST(F8, RoundsFloatsOfEverySizeToTheNearestCode) {
  constexpr uint32_t kStride = 12289;  // a prime: no bit pattern of fractions is left out
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += kStride) {
    const float f = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(float_to_f8(f), nearest_f8(static_cast<double>(f))) << f;
  }
}

TEST(F8, IsTheLargestPastTheRangeAndNanForWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float_to_f8(448.0f), kLargest);
  EXPECT_EQ(float_to_f8(464.0f), kLargest);
  EXPECT_EQ(float_to_f8(480.0f), kLargest);
  EXPECT_EQ(float_to_f8(-3e38f), kLargest | 0x80);
  EXPECT_EQ(float_to_f8(infinity), kNan);
  EXPECT_EQ(float_to_f8(-infinity), kNan | 0x80);
  EXPECT_EQ(float_to_f8(std::numeric_limits<float>::quiet_NaN()), kNan);
  EXPECT_EQ(float_to_f8(-0.0f), 0x80);
  EXPECT_EQ(float_to_f8(std::numeric_limits<float>::denorm_min()), 0);
}

}  // namespace
}  // namespace rz::test
