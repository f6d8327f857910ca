// What the sampler promises as a whole: determinism, ties, log probabilities, the distribution of its draws,
// and the ranges of its options.
#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "engine/allocation_count.h"
#include "engine/naive_sampler.h"
#include "support/error_of.h"

namespace rz {
namespace {

using test::error_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_logits(size_t n, uint32_t seed, float spread = 3) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(n);
  for (float &l : logits) l = normal(random);
  return logits;
}

int32_t token_of(Sampler &sampler, std::vector<float> logits, uint64_t step = 0,
                 const std::vector<int32_t> &history = {}) {
  return sampler.sample(logits, history, step).token;
}

SamplingOptions everything() {
  SamplingOptions o;
  o.temperature = 0.9f;
  o.top_k = 200;
  o.typical_p = 0.98f;
  o.top_p = 0.95f;
  o.min_p = 0.01f;
  o.repeat_penalty = 1.1f;
  o.presence_penalty = 0.1f;
  o.dry_multiplier = 0.8f;
  o.repeat_last_n = -1;
  o.xtc_probability = 0.5f;
  o.biases = {{3, 1.5f}, {7, -kInfinity}};
  o.logprobs = 5;
  o.seed = 99;
  return o;
}

TEST(Sampler, GreedyTiesGoToTheLowestId) {
  Sampler greedy({}, 100);
  std::vector<float> logits(100, 1.0f);
  EXPECT_EQ(token_of(greedy, logits), 0);
  logits[40] = logits[70] = 2;
  EXPECT_EQ(token_of(greedy, logits), 40);
  std::vector<float> zeros(100, -1.0f);
  zeros[10] = -0.0f;
  zeros[20] = 0.0f;
  EXPECT_EQ(token_of(greedy, zeros), 10);
}

TEST(Sampler, TopKOfTiesKeepsTheLowestIds) {
  SamplingOptions o;
  o.temperature = 1;
  o.top_k = 3;
  Sampler sampler(o, 1000);
  std::vector<float> logits(1000, -0.0f);
  for (size_t i = 500; i < 1000; ++i) logits[i] = 0.0f;
  for (uint64_t step = 0; step < 200; ++step) EXPECT_LT(token_of(sampler, logits, step), 3);
}

TEST(Sampler, ATokenDependsOnSeedAndStepAndNothingBefore) {
  const SamplingOptions o = everything();
  const std::vector<int32_t> history = {1, 2, 3, 1, 2, 3, 9};
  Sampler busy(o, 5000);
  std::vector<int32_t> tokens;
  for (uint64_t step = 0; step < 50; ++step)
    tokens.push_back(token_of(busy, random_logits(5000, 1), step, history));
  for (uint64_t step = 50; step-- > 0;) {
    Sampler fresh(o, 5000);
    EXPECT_EQ(token_of(fresh, random_logits(5000, 1), step, history), tokens[step]);
    EXPECT_EQ(token_of(busy, random_logits(5000, 1), step, history), tokens[step]);
  }
  SamplingOptions other = o;
  other.seed = 100;
  Sampler reseeded(other, 5000);
  int same = 0;
  for (uint64_t step = 0; step < 50; ++step) {
    same += token_of(reseeded, random_logits(5000, 1), step, history) == tokens[step];
  }
  EXPECT_LT(same, 25);
}

TEST(Sampler, StagesSetToKeepEverythingChangeNothing) {
  SamplingOptions off, wide;
  off.temperature = wide.temperature = 1;
  off.seed = wide.seed = 5;
  wide.top_k = 1 << 30;
  wide.top_p = wide.typical_p = 1;
  wide.repeat_last_n = 0;
  wide.dry_multiplier = 1;
  wide.presence_penalty = 1;
  Sampler a(off, 3000), b(wide, 3000);
  for (uint64_t step = 0; step < 100; ++step) {
    const std::vector<float> logits = random_logits(3000, static_cast<uint32_t>(step));
    EXPECT_EQ(token_of(a, logits, step), token_of(b, logits, step, {1, 2, 3}));
  }
}

TEST(Sampler, ABiasOfMinusInfinityBansAToken) {
  SamplingOptions o;
  o.biases = {{2, -kInfinity}};
  Sampler sampler(o, 4);
  EXPECT_EQ(token_of(sampler, {1, 2, 3, 0}), 1);
}

// The draws' frequencies against the probabilities, by the chi-square statistic.
TEST(Sampler, DrawsFollowTheDistribution) {
  for (const float temperature : {0.7f, 1.0f, 1.8f}) {
    for (const float top_p : {1.0f, 0.9f}) {
      SamplingOptions o;
      o.temperature = temperature;
      o.top_p = top_p;
      o.seed = 12345;
      const std::vector<float> logits = random_logits(24, 3, 1);
      test::NaiveSampler naive(o);
      const auto expected = naive.distribution(logits, {}, 1);
      Sampler sampler(o, 24);
      std::vector<int> counts(24, 0);
      constexpr int kDraws = 40000;
      for (uint64_t step = 0; step < kDraws; ++step) {
        ++counts[static_cast<size_t>(token_of(sampler, logits, step))];
      }
      double chi_square = 0;
      int seen = 0;
      for (const auto &c : expected) {
        const double mean = c.probability * kDraws;
        const int n = counts[static_cast<size_t>(c.token)];
        chi_square += (n - mean) * (n - mean) / mean;
        seen += n;
      }
      EXPECT_EQ(seen, kDraws) << "nothing outside the survivors";
      EXPECT_LT(chi_square, 60)
          << expected.size();  // 23 degrees of freedom: 1 in 30,000 passes this by chance
    }
  }
}

TEST(Sampler, LogprobsAreTheModelsOwnWhateverTheStagesDo) {
  const std::vector<float> logits = random_logits(30000, 4);
  double total = 0;
  for (const float l : logits) total += std::exp(static_cast<double>(l));
  const auto logprob = [&](int32_t token) {
    return static_cast<double>(logits[static_cast<size_t>(token)]) - std::log(total);
  };
  std::vector<int32_t> best(30000);
  for (size_t i = 0; i < best.size(); ++i) best[i] = static_cast<int32_t>(i);
  std::sort(best.begin(), best.end(), [&](int32_t a, int32_t b) { return logprob(a) > logprob(b); });

  Sampler sampler(everything(), 30000);
  for (uint64_t step = 0; step < 20; ++step) {
    std::vector<float> work = logits;
    const std::vector<int32_t> history(best.begin(), best.begin() + 10);
    const Sampled sampled = sampler.sample(work, history, step);
    EXPECT_NEAR(sampled.logprob, logprob(sampled.token), 2e-6);
    ASSERT_EQ(sampled.top.size(), 5u);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(sampled.top[i].token, best[i]);
      EXPECT_NEAR(sampled.top[i].logprob, logprob(best[i]), 2e-6);
    }
  }
}

TEST(Sampler, ReportsFewerAlternativesWhereFewerCanBe) {
  SamplingOptions o;
  o.logprobs = 4;
  Sampler sampler(o, 4);
  std::vector<float> logits = {1, -kInfinity, 0, -kInfinity};
  const Sampled sampled = sampler.sample(logits, {}, 0);
  ASSERT_EQ(sampled.top.size(), 2u);
  EXPECT_EQ(sampled.top[1].token, 2);
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
  SamplingOptions o;
  for (const float temperature : {0.0f, 1.0f}) {
    o.temperature = temperature;
    Sampler sampler(o, 3);
    for (const std::vector<float> &bad :
         {std::vector<float>{1, kNan, 2}, {1, kInfinity, 2}, {-kInfinity, -kInfinity, -kInfinity}}) {
      EXPECT_EQ(error_of([&] { token_of(sampler, bad); }).status(), Status::Numeric);
    }
    EXPECT_EQ(token_of(sampler, {-kInfinity, 1, -kInfinity}), 1);
  }
  o.biases = {{0, -kInfinity}};
  Sampler banned(o, 1);
  EXPECT_EQ(error_of([&] { token_of(banned, {1}); }).status(), Status::Numeric);
}

TEST(Sampler, SurvivesExtremeLogitsAndTemperatures) {
  for (const float temperature : {1e-42f, 1e-30f, 1e-3f, 100.0f}) {
    SamplingOptions o = everything();
    o.temperature = temperature;
    o.top_k = 0;
    Sampler sampler(o, 64);
    for (const float scale : {0.0f, 1e-40f, 1e30f}) {
      std::vector<float> logits = random_logits(64, 8, 1);
      for (float &l : logits) l *= scale;
      const int32_t token = token_of(sampler, logits, 3, {1, 1, 1, 1});
      EXPECT_GE(token, 0);
      EXPECT_LT(token, 64);
    }
  }
}

TEST(Sampler, APenaltyPastAllMeasureStillLeavesATokenToDraw) {
  SamplingOptions o;
  o.temperature = 1;
  o.dry_multiplier = 1000;
  o.dry_base = 100;
  o.repeat_last_n = -1;
  Sampler sampler(o, 1);
  EXPECT_EQ(token_of(sampler, {0}, 0, std::vector<int32_t>(5000, 0)), 0);
}

TEST(Sampler, DryStaysLinearOnALongRepetition) {
  SamplingOptions o;
  o.dry_multiplier = 1;
  o.repeat_last_n = -1;
  Sampler sampler(o, 10);
  std::vector<int32_t> history;
  for (int i = 0; i < 1000000; ++i) history.push_back(i % 3);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NE(token_of(sampler, {5, 5.5f, 5, 1, 1, 1, 1, 1, 1, 1}, 0, history), 1) << "1 would go on repeating";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST(Sampler, AllocatesNothingPerToken) {
  for (const int32_t mirostat : {0, 1, 2}) {
    SamplingOptions o = everything();
    o.mirostat = mirostat;
    Sampler sampler(o, 20000);
    const std::vector<float> base = random_logits(20000, 5);
    std::vector<float> logits = base;
    std::vector<int32_t> history(300);
    for (size_t i = 0; i < history.size(); ++i) history[i] = static_cast<int32_t>(i % 7);
    const size_t before = test::allocation_count();
    for (uint64_t step = 0; step < 50; ++step) {
      std::copy(base.begin(), base.end(), logits.begin());
      sampler.sample(logits, history, step);
    }
    EXPECT_EQ(test::allocation_count(), before);
  }
}

TEST(SamplingOptions, AcceptsItsDefaultsAndItsLimits) {
  SamplingOptions().check(10);
  everything().check(100);
}

TEST(SamplingOptions, NamesTheFieldItsRangeAndWhatItFound) {
  const auto message = [](void (*change)(SamplingOptions &)) {
    SamplingOptions o;
    change(o);
    const Error error = error_of([&] { o.check(32000); });
    EXPECT_EQ(error.status(), Status::Argument);
    return std::string(error.what());
  };
  EXPECT_EQ(message([](auto &o) { o.temperature = kNan; }), "temperature: expected 0 to 100, found nan");
  EXPECT_EQ(message([](auto &o) { o.temperature = -kNan; }), "temperature: expected 0 to 100, found nan");
  EXPECT_EQ(message([](auto &o) { o.temperature = -0.5f; }), "temperature: expected 0 to 100, found -0.5");
  EXPECT_EQ(message([](auto &o) { o.top_k = -1; }), "top_k: expected 0 or more, found -1");
  EXPECT_EQ(message([](auto &o) { o.top_p = 1.5f; }), "top_p: expected 0 to 1, found 1.5");
  EXPECT_EQ(message([](auto &o) { o.min_p = kInfinity; }), "min_p: expected 0 to 1, found inf");
  EXPECT_EQ(message([](auto &o) { o.typical_p = -1; }), "typical_p: expected 0 to 1, found -1");
  EXPECT_EQ(message([](auto &o) { o.repeat_last_n = -2; }), "repeat_last_n: expected -1 or more, found -2");
  EXPECT_EQ(message([](auto &o) { o.dry_base = 0.5f; }), "dry_base: expected 1 to 100, found 0.5");
  EXPECT_EQ(message([](auto &o) { o.mirostat = 3; }), "mirostat: expected 0 to 2, found 3");
  EXPECT_EQ(message([](auto &o) { o.logprobs = 32001; }), "logprobs: expected 0 to 32000, found 32001");
  EXPECT_EQ(message([](auto &o) {
              o.biases = {{5, 0}, {32000, 0}};
            }),
            "logit_bias[1].token: expected 0 to 31999, found 32000");
  EXPECT_EQ(message([](auto &o) {
              o.biases = {{5, kNan}};
            }),
            "logit_bias[0].bias: expected -inf to 1e9, found nan");
}

}  // namespace
}  // namespace rz
