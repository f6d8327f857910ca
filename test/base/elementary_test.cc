#include "base/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rz {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ulps(double found, double expected) {
  return std::fabs(found - expected) / (std::nextafter(std::fabs(expected), kInfinity) - std::fabs(expected));
}

TEST(Elementary, LogarithmsAreWithinAnUlp) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    for (const double x :
         {unit + 1e-300, 0.5 + unit, 1 + 1e5 * unit, std::ldexp(1 + unit, i % 2000 - 1060)}) {
      ASSERT_LT(ulps(natural_log(x), std::log(x)), 1.5) << x;
    }
  }
  EXPECT_EQ(natural_log(1), 0);
  EXPECT_EQ(natural_log(0), -kInfinity);
  EXPECT_EQ(natural_log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(natural_log(-1)));
  EXPECT_TRUE(std::isnan(natural_log(std::nan(""))));
}

TEST(Elementary, PowersOfTwoAreWithinTwoUlps) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    const double x = (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * (i % 2 ? 20 : 2040);
    ASSERT_LT(ulps(power_of_two(x), std::exp2(x)), 2) << x;
  }
  EXPECT_EQ(power_of_two(-3), 0.125);
  EXPECT_EQ(power_of_two(1024), kInfinity);
  EXPECT_EQ(power_of_two(kInfinity), kInfinity);
  EXPECT_EQ(power_of_two(-kInfinity), 0);
  EXPECT_EQ(power_of_two(-1074), std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::isnan(power_of_two(std::nan(""))));
}

TEST(Elementary, PowersHaveFifteenDigits) {
  EXPECT_NEAR(power(152000, -0.3) / std::pow(152000, -0.3), 1, 1e-14);
  EXPECT_NEAR(power(1e-5, 2.5) / std::pow(1e-5, 2.5), 1, 1e-14);
  EXPECT_EQ(power(0, kInfinity), 0);
  EXPECT_EQ(power(3, kInfinity), kInfinity);
}

}  // namespace
}  // namespace rz
