#include "engine/softmax.h"

#include <gtest/gtest.h>

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
