// Every stage, alone and all together, against the plain double-precision sampler.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "base/philox.h"
#include "engine/naive_sampler.h"
#include "engine/sampler.h"

namespace rz {
namespace {

using test::NaiveSampler;

// Where a number lies this near to its bound, float and double may decide differently.
constexpr double kMargin = 2e-5;

class SamplerStages : public testing::Test {
 protected:
  // Draws from random logits with options made anew by `choose` each time; compares token by token.
  void compare(const std::function<void(SamplingOptions &)> &choose, int rounds = 1500) {
    int compared = 0;
    for (int round = 0; round < rounds; ++round) {
      const size_t n = 1 + random() % (round % 10 == 0 ? 3000 : 60);
      SamplingOptions options;
      options.temperature = 0.3f + unit() * 1.5f;
      options.seed = random();
      choose(options);
      for (auto &bias : options.biases) bias.token %= static_cast<int32_t>(n);
      std::vector<float> logits(n);
      const float spread = 0.5f + 4 * unit();
      for (float &l : logits) l = (unit() + unit() + unit() - 1.5f) * 2 * spread;
      if (n > 3 && round % 3 == 0) logits[1] = logits[3] = logits[0];  // ties
      if (n > 5 && round % 5 == 0) logits[5] = -std::numeric_limits<float>::infinity();
      std::vector<int32_t> history(random() % 200);
      const size_t kinds = 1 + random() % n;
      for (int32_t &t : history) t = static_cast<int32_t>(random() % std::min<size_t>(kinds, 5));
      compared += compare_one(options, logits, history, static_cast<uint64_t>(round));
      if (HasFailure()) return;
    }
    EXPECT_GT(compared, rounds * 9 / 10);
  }

  // False where the draw is too near to a border to tell.
  bool compare_one(const SamplingOptions &options, std::vector<float> logits,
                   const std::vector<int32_t> &history, uint64_t step) {
    NaiveSampler naive(options);
    const auto c = naive.distribution(logits, history, philox_uniform(options.seed, step, 1));
    const int32_t expected = naive.draw(c, philox_uniform(options.seed, step, 0));
    Sampler sampler(options, static_cast<int32_t>(logits.size()));
    const int32_t found = sampler.sample(logits, history, step).token;
    if (naive.margin < kMargin) return false;
    EXPECT_EQ(found, expected) << "of " << logits.size() << " at step " << step;
    return true;
  }

  float unit() { return static_cast<float>(random() % 65536) / 65536; }
  std::mt19937 random{11};
};

TEST_F(SamplerStages, Temperature) {
  compare([](SamplingOptions &) {});
}

TEST_F(SamplerStages, LogitBias) {
  compare([&](SamplingOptions &o) {
    for (int i = 0; i < 3; ++i) o.biases.push_back({static_cast<int32_t>(random() % 50), unit() * 10 - 5});
  });
}

TEST_F(SamplerStages, Penalties) {
  compare([&](SamplingOptions &o) {
    o.repeat_penalty = 0.5f + unit() * 1.5f;
    o.presence_penalty = unit() * 2 - 1;
    o.frequency_penalty = unit() * 0.5f - 0.2f;
    o.repeat_last_n = static_cast<int32_t>(random() % 100) - 1;
  });
}

TEST_F(SamplerStages, Dry) {
  compare([&](SamplingOptions &o) {
    o.dry_multiplier = unit() * 2;
    o.dry_base = 1 + unit();
    o.dry_allowed_length = 1 + static_cast<int32_t>(random() % 4);
    o.repeat_last_n = static_cast<int32_t>(random() % 250) - 1;
  });
}

TEST_F(SamplerStages, TopK) {
  compare([&](SamplingOptions &o) { o.top_k = 1 + static_cast<int32_t>(random() % 100); });
}

TEST_F(SamplerStages, Typical) {
  compare([&](SamplingOptions &o) { o.typical_p = 0.05f + 0.9f * unit(); });
}

TEST_F(SamplerStages, TopP) {
  compare([&](SamplingOptions &o) { o.top_p = 0.05f + 0.9f * unit(); });
}

TEST_F(SamplerStages, MinP) {
  compare([&](SamplingOptions &o) { o.min_p = unit() * 0.5f; });
}

TEST_F(SamplerStages, Xtc) {
  compare([&](SamplingOptions &o) {
    o.xtc_probability = unit();
    o.xtc_threshold = unit() * 0.4f;
  });
}

TEST_F(SamplerStages, AllTogetherInOrder) {
  compare([&](SamplingOptions &o) {
    o.biases.push_back({static_cast<int32_t>(random() % 50), unit() * 4});
    o.repeat_penalty = 1.1f;
    o.dry_multiplier = 0.5f;
    if (random() % 2) o.top_k = 5 + static_cast<int32_t>(random() % 40);
    if (random() % 2) o.typical_p = 0.5f + 0.4f * unit();
    if (random() % 2) o.top_p = 0.5f + 0.4f * unit();
    if (random() % 2) o.min_p = unit() * 0.1f;
    o.xtc_probability = 0.5f;
  });
}

TEST_F(SamplerStages, Greedy) {
  compare([&](SamplingOptions &o) {
    o.temperature = 0;
    o.top_k = 3;
    o.xtc_probability = random() % 2 ? 1.0f : 0.0f;  // has no say
    o.xtc_threshold = 0.01f;
    o.mirostat = static_cast<int32_t>(random() % 3);
    o.repeat_penalty = 1.3f;
  });
}

// Mirostat carries a state along, so whole sequences are compared.
TEST_F(SamplerStages, MirostatTwo) {
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    SamplingOptions options;
    options.temperature = 1;
    options.mirostat = 2;
    options.mirostat_tau = 1 + 4 * unit();
    options.mirostat_eta = 0.05f + 0.2f * unit();
    options.seed = random();
    constexpr int32_t kVocab = 200;
    NaiveSampler naive(options);
    Sampler sampler(options, kVocab);
    for (uint64_t step = 0; step < 40; ++step) {
      std::vector<float> logits(kVocab);
      for (float &l : logits) l = (unit() + unit() + unit() - 1.5f) * 8;
      const auto c = naive.distribution(logits, {}, 0);
      const int32_t expected = naive.draw(c, philox_uniform(options.seed, step, 0));
      const double margin = naive.margin;
      naive.observe(expected);
      const int32_t found = sampler.sample(logits, {}, step).token;
      if (margin < kMargin) break;
      ASSERT_EQ(found, expected) << "round " << round << " step " << step;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1500);
}

// What Mirostat promises: the average surprise of what is drawn comes to the target, on a Zipf law as the
// paper has it, whose best token alone has 2.8 bits.
TEST_F(SamplerStages, BothMirostatsHoldTheSurpriseNearTheTarget) {
  constexpr int32_t kVocab = 20000;
  std::vector<float> zipf(kVocab);
  for (int32_t i = 0; i < kVocab; ++i)
    zipf[static_cast<size_t>(i)] = -1.1f * std::log(static_cast<float>(i + 1));
  for (const int32_t version : {1, 2}) {
    for (const float tau : {3.5f, 4.5f, 6.0f}) {
      SamplingOptions options;
      options.temperature = 1;
      options.mirostat = version;
      options.mirostat_tau = tau;
      Sampler sampler(options, kVocab);
      double surprise = 0;
      constexpr int kSteps = 600, kSettled = 100;
      for (uint64_t step = 0; step < kSteps; ++step) {
        std::vector<float> logits = zipf;
        const double bits = -static_cast<double>(sampler.sample(logits, {}, step).logprob) / std::log(2.0);
        if (step >= kSettled) surprise += bits / (kSteps - kSettled);
      }
      EXPECT_NEAR(surprise, tau, 0.25) << "version " << version;
    }
  }
}

}  // namespace
}  // namespace rz
