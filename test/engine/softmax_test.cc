#include "engine/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/error_of.h"

namespace rz {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(size_t n, uint32_t seed, float spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(n);
  for (float &l : logits) l = normal(random);
  return logits;
}

TEST(Softmax, ExponentialsAreWithinTwoTenMillionths) {
  double worst = 0;
  for (double x = 0; x > -86.9; x -= 0.000317) {
    const float f = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(f));
    worst = std::max(worst, std::fabs(static_cast<double>(exp_weight(f)) - exact) / exact);
  }
  EXPECT_LT(worst, 2e-7);
  EXPECT_EQ(exp_weight(0), 1);
  EXPECT_EQ(exp_weight(-88), 0);
  EXPECT_EQ(exp_weight(-kInfinity), 0);
}

TEST(Softmax, SumsAgreeWithDoublePrecisionAtEveryLength) {
  for (const size_t n : {1u, 2u, 15u, 16u, 17u, 127u, 128u, 129u, 1000u, 151936u}) {
    std::vector<float> logits = random_logits(n, static_cast<uint32_t>(n), 4);
    if (n > 10) logits[3] = -kInfinity;
    const float max = max_logit(logits);
    for (const float scale : {1.0f, 0.3f, 2.0f}) {
      double weights = 0, weighted = 0;
      for (const float l : logits) {
        const double x = (static_cast<double>(l) - static_cast<double>(max)) * static_cast<double>(scale);
        weights += std::exp(x);
        if (l > -kInfinity) weighted += std::exp(x) * x;
      }
      const ExpSums sums = exp_sums(logits, max, scale);
      EXPECT_NEAR(sums.weights / weights, 1, 1e-6) << n;
      EXPECT_NEAR(sums.weighted, weighted, 2e-6 * std::fabs(weighted) + 1e-9) << n;
    }
  }
}

TEST(Softmax, FindsTheLargestLogitWhereverItStands) {
  for (size_t n = 1; n < 70; ++n) {
    for (size_t at = 0; at < n; ++at) {
      std::vector<float> logits(n, -kInfinity);
      logits[at] = -3e38f;
      EXPECT_EQ(max_logit(logits), -3e38f);
    }
  }
}

TEST(Softmax, RefusesLogitsThatAreNoNumbersNamingTheToken) {
  for (const size_t at : {0u, 16u, 99u}) {
    std::vector<float> logits = random_logits(100, 1, 1);
    logits[at] = std::numeric_limits<float>::quiet_NaN();
    const Error nan = test::error_of([&] { max_logit(logits); });
    EXPECT_EQ(nan.status(), Status::Numeric);
    EXPECT_EQ(nan.what(), "logit of token " + std::to_string(at) + ": expected a number, found nan");
    logits[at] = kInfinity;
    EXPECT_EQ(test::error_of([&] { max_logit(logits); }).status(), Status::Numeric);
  }
  const std::vector<float> none(100, -kInfinity);
  EXPECT_EQ(test::error_of([&] { max_logit(none); }).status(), Status::Numeric);
}

}  // namespace
}  // namespace rz
