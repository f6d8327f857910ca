// The sampler's passes over a vocabulary: every instruction set against double precision, and all of them
// alike to the bit, for a seed is to draw the same tokens on every machine.
#include <limits>

#include "cpu/kernel_test.h"
#include "cpu/kernel_timing.h"

namespace rz::cpu {
namespace {

using test::Guarded;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kSizes[] = {1, 2, 15, 16, 17, 31, 33, 127, 128, 129, 145, 1000, 151936};

std::vector<float> logits_of(size_t n) {
  std::vector<float> logits = test::random_values(n, 4, static_cast<uint32_t>(n));
  if (n > 10) logits[3] = -kInfinity;
  return logits;
}

class Logits : public test::KernelTest {};

TEST_P(Logits, ExponentialsAreWithinTwoTenMillionthsAndAlikeInEverySet) {
  double worst = 0;
  for (double x = 0; x > -86.9; x -= 0.000317) {
    const float f = static_cast<float>(x), found = kernels().exp_weight(f);
    ASSERT_EQ(found, plain().exp_weight(f)) << f;
    const double exact = std::exp(static_cast<double>(f));
    worst = std::max(worst, std::fabs(static_cast<double>(found) - exact) / exact);
  }
  EXPECT_LT(worst, 2e-7);
  EXPECT_EQ(kernels().exp_weight(0), 1);
  EXPECT_EQ(kernels().exp_weight(-88), 0);
  EXPECT_EQ(kernels().exp_weight(-kInfinity), 0);
}

TEST_P(Logits, SumsAgreeWithDoublePrecisionAndAreAlikeInEverySet) {
  for (const size_t n : kSizes) {
    const Guarded<float> logits(logits_of(n));
    const int64_t count = static_cast<int64_t>(n);
    const float max = kernels().largest_logit(logits.data(), count);
    for (const float scale : {1.0f, 0.3f, 2.0f}) {
      double weights = 0, weighted = 0;
      for (const float l : logits.values()) {
        const double x = (static_cast<double>(l) - static_cast<double>(max)) * static_cast<double>(scale);
        weights += std::exp(x);
        if (l > -kInfinity) weighted += std::exp(x) * x;
      }
      const ExpSums sums = kernels().exp_sums(logits.data(), count, max, scale);
      const ExpSums same = plain().exp_sums(logits.data(), count, max, scale);
      EXPECT_NEAR(sums.weights / weights, 1, 1e-6) << n;
      EXPECT_NEAR(sums.weighted, weighted, 2e-6 * std::fabs(weighted) + 1e-9) << n;
      EXPECT_EQ(sums.weights, same.weights) << n;
      EXPECT_EQ(sums.weighted, same.weighted) << n;
    }
  }
}

TEST_P(Logits, TheLargestIsFoundWhereverItStands) {
  for (size_t n = 1; n < 70; ++n) {
    for (size_t at = 0; at < n; ++at) {
      Guarded<float> logits(std::vector<float>(n, -kInfinity));
      EXPECT_EQ(kernels().largest_logit(logits.data(), static_cast<int64_t>(n)), -kInfinity);
      logits[at] = -3e38f;
      EXPECT_EQ(kernels().largest_logit(logits.data(), static_cast<int64_t>(n)), -3e38f);
      for (const float bad : {kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
        logits[at] = bad;
        EXPECT_EQ(kernels().largest_logit(logits.data(), static_cast<int64_t>(n)), kInfinity) << at;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Logits, testing::ValuesIn(test::kernel_sets()), test::set_name);

void time_sums(benchmark::State &state, const Kernels &kernels) {
  const std::vector<float> logits = logits_of(151936);
  const int64_t n = static_cast<int64_t>(logits.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernels.exp_sums(logits.data(), n, kernels.largest_logit(logits.data(), n), 1));
  }
  test::count_bytes(state, logits.size() * sizeof(float));
}

const bool kTimed = test::for_every_set([](const std::string &name, const Kernels &set) {
  benchmark::RegisterBenchmark(("logits/" + name).c_str(), time_sums, std::cref(set));
});

}  // namespace
}  // namespace rz::cpu
