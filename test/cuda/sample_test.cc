// Sampling on the device against the engine's sampler: token, log probability and alternatives, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "base/philox.h"
#include "cuda/emulator/faults.h"
#include "cuda/launch.h"
#include "cuda/sample_lab.h"
#include "cuda/simt.h"
#include "engine/softmax.h"

namespace rz {
namespace {

using cuda::SampleStatus;
using test::SampleLab;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Sample : public testing::Test {
 protected:
  using Choose = std::function<void(SamplingOptions &)>;
  ~Sample() override { cuda::emulator::faults().seed = 0; }

  // Four rows with different settings by `choose`, three steps each, of every vocabulary.
  void compare(const Choose &choose, const std::vector<int32_t> &vocabs = {1, 2, 31, 257, 5000}) {
    for (const int32_t vocab : vocabs) compare(vocab, 4, 3, choose);
  }
  void compare(int32_t vocab, int32_t rows, int steps, const Choose &choose) {
    cuda::emulator::faults().seed = random() % 1000;
    SampleLab lab(vocab, rows);
    for (int32_t i = 0; i < rows; ++i) {
      lab.start(i, options(vocab, choose), history(vocab), random() % 3 == 0 ? random() : random() % 100);
    }
    for (int step = 0; step < steps && !HasFailure(); ++step) {
      std::vector<std::vector<float>> all;
      for (int32_t i = 0; i < rows; ++i) all.push_back(logits(vocab));
      lab.step(all);
    }
  }

  SamplingOptions options(int32_t vocab, const Choose &choose) {
    SamplingOptions o;
    o.temperature = random() % 3 == 0 ? 1 : 0.2f + unit() * 1.6f;
    o.seed = random();
    o.logprobs = random() % 3 == 0 ? static_cast<int32_t>(random() % 21) : 0;
    choose(o);
    o.logprobs = std::min(o.logprobs, vocab);
    for (auto &bias : o.biases) bias.token %= vocab;
    o.check(vocab);
    return o;
  }

  std::vector<int32_t> history(int32_t vocab, size_t most = 300) {
    std::vector<int32_t> h(random() % most);
    const int32_t kinds = std::min<int32_t>(vocab, 1 + static_cast<int32_t>(random() % 12));
    for (int32_t &t : h) t = static_cast<int32_t>(random()) % kinds;
    for (int32_t &t : h) t = std::abs(t);
    return h;
  }

  // Peaked, flat, tied, partly -infinity, extreme.
  std::vector<float> logits(int32_t vocab) {
    std::vector<float> v(static_cast<size_t>(vocab));
    std::normal_distribution<float> normal(0, 0.5f + 3 * unit());
    const uint64_t kind = random() % 8;
    for (float &l : v) {
      l = normal(random);
      if (kind == 1) l *= 0.05f;
      if (kind == 2) l = std::round(l);
      if (kind == 3 && random() % 4 == 0) l = -kInfinity;
      if (kind == 4) l = random() % 2 ? 0.0f : -0.0f;
      if (kind == 5) l *= 1e30f;
      if (kind == 6) l *= 10;
    }
    if (kind == 7) v[random() % v.size()] = 30;
    if (kind == 3) v[0] = 1;
    return v;
  }

  float unit() { return static_cast<float>(random() % 65536) / 65536; }
  int32_t below(int32_t n) { return static_cast<int32_t>(random() % static_cast<uint64_t>(n)); }
  std::mt19937_64 random{5};
};

TEST_F(Sample, GreedyTakesTheLowestOfTheBest) {
  compare([](SamplingOptions &o) { o.temperature = 0; }, {1, 2, 31, 257, 5000, 32000});
}

TEST_F(Sample, Temperature) {
  compare([](SamplingOptions &) {});
}

TEST_F(Sample, LogitBias) {
  compare([&](SamplingOptions &o) {
    for (int i = 0; i < 6; ++i) o.biases.push_back({below(40), unit() * 10 - 5});
    if (random() % 4 == 0) o.biases.push_back({3, -kInfinity});
    if (random() % 3 == 0) o.temperature = 0;
  });
}

TEST_F(Sample, Penalties) {
  compare([&](SamplingOptions &o) {
    o.repeat_penalty = random() % 4 == 0 ? 0 : 0.5f + unit() * 1.5f;
    o.presence_penalty = unit() * 2 - 1;
    o.frequency_penalty = unit() * 0.5f - 0.2f;
    o.repeat_last_n = below(200) - 1;
  });
}

TEST_F(Sample, Dry) {
  compare([&](SamplingOptions &o) {
    o.dry_multiplier = unit() * 2;
    o.dry_base = 1 + unit();
    o.dry_allowed_length = 1 + below(4);
    o.repeat_last_n = below(300) - 1;
  });
}

TEST_F(Sample, TopK) {
  compare([&](SamplingOptions &o) { o.top_k = 1 + below(random() % 4 == 0 ? 10000 : 100); });
}

TEST_F(Sample, Typical) {
  compare([&](SamplingOptions &o) { o.typical_p = 0.05f + 0.94f * unit(); });
}

TEST_F(Sample, TopP) {
  compare([&](SamplingOptions &o) { o.top_p = random() % 4 == 0 ? 0.999999f : 0.05f + 0.94f * unit(); });
}

TEST_F(Sample, MinP) {
  compare([&](SamplingOptions &o) { o.min_p = random() % 4 == 0 ? 1e-30f : unit() * 0.5f; });
}

TEST_F(Sample, Xtc) {
  compare([&](SamplingOptions &o) {
    o.xtc_probability = unit();
    o.xtc_threshold = random() % 3 == 0 ? 0 : unit() * 0.3f;
  });
}

TEST_F(Sample, MirostatOneCarriesItsStateAlong) {
  const Choose choose = [&](SamplingOptions &o) {
    o.mirostat = 1;
    o.mirostat_tau = unit() * 8;
    o.mirostat_eta = unit() * 0.5f;
  };
  for (const int32_t vocab : {1, 2, 31, 257, 5000}) compare(vocab, 4, 6, choose);
}

TEST_F(Sample, MirostatTwoCarriesItsStateAlong) {
  const Choose choose = [&](SamplingOptions &o) {
    o.mirostat = 2;
    o.mirostat_tau = unit() * 8;
    o.mirostat_eta = unit() * 0.5f;
  };
  for (const int32_t vocab : {1, 2, 31, 257, 5000}) compare(vocab, 4, 6, choose);
}

TEST_F(Sample, AllStagesInEveryCombination) {
  const Choose choose = [&](SamplingOptions &o) {
    const auto maybe = [&] { return random() % 2 == 0; };
    if (random() % 12 == 0) o.temperature = 0;
    if (random() % 12 == 0) o.temperature = 1e-42f;
    if (maybe()) o.biases = {{below(50), unit() * 8 - 4}, {below(50), unit() * 4}};
    if (maybe()) o.repeat_penalty = 1.1f;
    if (maybe()) o.frequency_penalty = 0.2f;
    if (maybe()) o.dry_multiplier = 0.7f;
    if (maybe()) o.repeat_last_n = -1;
    if (maybe()) o.top_k = 1 + below(300);
    if (maybe()) o.typical_p = 0.3f + 0.69f * unit();
    if (maybe()) o.top_p = 0.3f + 0.69f * unit();
    if (maybe()) o.min_p = unit() * 0.1f;
    if (maybe()) o.xtc_probability = 0.7f;
    o.xtc_threshold = unit() * 0.2f;
    if (random() % 8 == 0) o.mirostat = 1 + below(2);
  };
  for (int round = 0; round < 40 && !HasFailure(); ++round) compare(choose, {2, 31, 257});
  for (int round = 0; round < 16 && !HasFailure(); ++round) compare(choose, {5000});
  compare(choose, {32000});
}

TEST_F(Sample, AFullVocabulary) {
  for (const Choose &choose : std::vector<Choose>{[](SamplingOptions &o) { o.temperature = 0; },
                                                  [](SamplingOptions &o) {
                                                    o.temperature = 0.8f;
                                                    o.top_k = 40;
                                                    o.top_p = 0.95f;
                                                    o.min_p = 0.05f;
                                                    o.repeat_penalty = 1.1f;
                                                  },
                                                  [](SamplingOptions &o) { o.top_p = 0.9f; }}) {
    compare(152000, 1, 1, choose);
  }
}

TEST_F(Sample, ManyNearlyEqualLogitsOfAFullVocabulary) {
  SamplingOptions o;
  o.temperature = 1.3f;
  o.top_p = 0.97f;
  SampleLab lab(152000, 1);
  std::vector<float> flat(152000);
  for (float &l : flat) l = static_cast<float>(random() % 1000) * 0.001f;
  lab.start(0, o, {});
  lab.step({flat});
}

// More candidates than shared memory holds, ranked by distance and then by logit again.
TEST_F(Sample, TypicalOfManyNearlyEqualLogits) {
  SamplingOptions o;
  o.temperature = 0.9f;
  o.typical_p = 0.98f;
  o.min_p = 0.2f;
  SampleLab lab(9000, 1);
  std::vector<float> flat(9000);
  for (float &l : flat) l = static_cast<float>(random() % 1000) * 0.002f;
  for (uint64_t step = 0; step < 4; ++step) {
    lab.start(0, o, {}, step);
    lab.step({flat});
  }
}

TEST_F(Sample, LongHistories) {
  SamplingOptions o;
  o.temperature = 0.7f;
  o.dry_multiplier = 1;
  o.frequency_penalty = 0.01f;
  o.repeat_last_n = -1;
  SampleLab lab(257, 2);
  std::vector<int32_t> repeating(6000), words(20000);
  for (size_t i = 0; i < repeating.size(); ++i) repeating[i] = static_cast<int32_t>(i % 3);
  for (int32_t &t : words) t = below(300) - 10;  // some outside the vocabulary
  lab.start(0, o, repeating);
  lab.start(1, o, words);
  for (int step = 0; step < 3; ++step) lab.step({logits(257), logits(257)});
}

TEST_F(Sample, LogitsThatAreNoNumbersAreNamed) {
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingOptions o;
    o.temperature = temperature;
    o.logprobs = 2;
    SampleLab lab(5000, 4);
    std::vector<std::vector<float>> bad(4, logits(5000));
    bad[0][4999] = kNan;
    bad[1][4097] = kInfinity;
    bad[1][4900] = kNan;
    bad[2].assign(5000, -kInfinity);
    for (int32_t i = 0; i < 4; ++i) lab.start(i, o, {});
    lab.step(bad);
    EXPECT_EQ(lab.record(0, 0).status, SampleStatus::Nan);
    EXPECT_EQ(lab.record(1, 0).status, SampleStatus::Infinite);
    EXPECT_EQ(lab.record(2, 0).status, SampleStatus::None);
    EXPECT_EQ(lab.record(3, 0).status, SampleStatus::Ok);
    EXPECT_EQ(lab.row(0).halted, 1);
    EXPECT_EQ(lab.row(0).step, 0u);
    EXPECT_EQ(lab.row(3).halted, 0);
    // What has stopped stays as it is, though the host may have asked for more already.
    cuda::sample(lab.queue(), lab.args());
    lab.queue().wait();
    EXPECT_EQ(lab.record(0, 0).token, 4999);
    EXPECT_EQ(lab.row(0).n_tokens, 0);
  }
}

TEST_F(Sample, ABanOfTheLastTokenIsRefused) {
  SamplingOptions o;
  o.biases = {{0, -kInfinity}};
  SampleLab lab(1, 1);
  lab.start(0, o, {});
  lab.step({{1}});
  EXPECT_EQ(lab.record(0, 0).status, SampleStatus::None);
}

TEST_F(Sample, APenaltyThatOverflowsIsRefused) {
  SamplingOptions o;
  o.repeat_penalty = 1e-30f;
  SampleLab lab(31, 1);
  lab.start(0, o, {5});
  std::vector<float> large(31, 1);
  large[5] = 1e20f;
  lab.step({large});
  EXPECT_EQ(lab.record(0, 0).status, SampleStatus::Infinite);
}

TEST_F(Sample, RowsThatWantNoTokenAreLeftAlone) {
  SampleLab lab(257, 3);
  SamplingOptions o;
  o.temperature = 1;
  o.frequency_penalty = 1;
  lab.start(0, o, {1, 2});
  lab.start(1, o, {1, 2});
  lab.start(2, o, {1, 2});
  lab.stop(1);
  lab.step({logits(257), logits(257), logits(257)});
  EXPECT_EQ(lab.record(1, 0).sequence, 0u);
  EXPECT_EQ(lab.row(1).n_tokens, 2);
  // Another generation takes the place.
  lab.start(1, o, {7}, 40);
  lab.step({logits(257), logits(257), logits(257)});
  EXPECT_EQ(lab.record(1, 40).sequence, 41u);
}

// Sums of equal weights are exact, so a draw can fall on a border, and a share end there.
TEST_F(Sample, ADrawOnABorderTakesTheNextToken) {
  SamplingOptions o;
  o.temperature = 1;
  SampleLab lab(4096, 1);
  const std::vector<float> equal(4096, 1.5f);
  int found = 0;
  for (uint64_t step = 0; found < 8; ++step) {
    const float place = philox_uniform(o.seed, step, 0) * 4096;
    if (place != std::floor(place)) continue;
    o.top_p = found % 2 ? 0.5f : 1;  // of a power of two: borders stay borders
    lab.start(0, o, {}, step);
    lab.step({equal});
    EXPECT_EQ(lab.record(0, step).token, static_cast<int32_t>(place) / (found % 2 ? 2 : 1));
    ++found;
  }
}

TEST_F(Sample, AShareThatEndsOnABorderEndsThere) {
  SamplingOptions o;
  o.temperature = 1;
  SampleLab lab(8, 1);
  for (const bool typical : {false, true}) {
    (typical ? o.typical_p : o.top_p) = 0.125f;
    for (uint64_t step = 0; step < 20; ++step) {
      lab.start(0, o, {}, step);
      lab.step({std::vector<float>(8, 0.25f)});
      EXPECT_EQ(lab.record(0, step).token, 0);
    }
  }
}

TEST_F(Sample, AWeightOfExactlyTheLeastStays) {
  SamplingOptions o;
  o.temperature = 1;
  o.min_p = exp_weight(-1.0f);
  SampleLab lab(2, 1);
  int seconds = 0;
  for (uint64_t step = 0; step < 20; ++step) {
    lab.start(0, o, {}, step);
    lab.step({{0, -1}});
    seconds += lab.record(0, step).token;
  }
  EXPECT_GT(seconds, 0);
}

struct ForwardArgs {
  float *logits;  // (rows, stride)
  int32_t vocab, stride;
  const int32_t *chosen;         // (rows)
  const cuda::SampleRow *table;  // (rows)
};

#if !defined(RZ_ON_DEVICE)  // its own kernel is compiled here, not for a device
float forward_logit(int32_t i, int32_t token, int32_t length) {
  return static_cast<float>((i * 37 + token * 101 + length * 13) % 7993) * 0.002f;  // a prime: few ties
}

// What a forward pass is to the sampler: logits from the tokens that it chose.
RZ_KERNEL(64, 1)
forward_kernel(RZ_ARGS(ForwardArgs) a) {
  cuda::pdl_wait();
  const int32_t row = cuda::block_x();
  for (int32_t i = cuda::thread(); i < a.vocab; i += cuda::block_threads()) {
    a.logits[row * a.stride + i] = forward_logit(i, a.chosen[row], a.table[row].n_tokens);
  }
}

// The host runs ahead: recorded steps are replayed before it has read a token.
TEST_F(Sample, StepsFollowEachOtherWithoutTheHost) {
  constexpr int32_t kVocab = 8000, kRows = 4;
  for (uint64_t seed = 1; seed < 5; ++seed) {
    cuda::emulator::faults().seed = seed;
    SampleLab lab(kVocab, kRows);
    for (int32_t i = 0; i < kRows; ++i) {
      const SamplingOptions o = options(kVocab, [&](SamplingOptions &s) {
        if (i == 3) s.temperature = 0;
        if (i == 3) return;
        s.repeat_penalty = 1.3f;
        s.dry_multiplier = 1;
        s.mirostat = i == 2 ? 2 : 0;
        s.logprobs = 5;
      });
      lab.start(i, o, history(kVocab));
    }
    lab.put_seats();
    const cuda::SampleArgs a = lab.args();
    lab.queue().begin_recording();
    cuda::launch(lab.queue(), forward_kernel, "forward", {kRows}, 64, 0,
                 ForwardArgs{const_cast<float *>(a.logits), kVocab, a.logits_stride, a.chosen, a.table});
    cuda::sample(lab.queue(), a);
    const auto recording = lab.queue().end_recording();
    for (int i = 0; i < SampleLab::kRingSlots; ++i) lab.queue().replay(*recording);
    lab.queue().wait();
    for (int32_t i = 0; i < kRows; ++i) {
      lab.compare_ahead(i, SampleLab::kRingSlots, [&](int32_t token, int32_t length) {
        std::vector<float> logits(kVocab);
        for (int32_t k = 0; k < kVocab; ++k) logits[static_cast<size_t>(k)] = forward_logit(k, token, length);
        return logits;
      });
    }
  }
}
#endif

TEST_F(Sample, AGreedyRowMayGoWithoutItsLogprob) {
  SampleLab lab(5000, 2);
  SamplingOptions o;
  lab.start(0, o, {}, 0, false);
  lab.start(1, o, {}, 0, true);
  const std::vector<float> l = logits(5000);
  lab.step({l, l});
  EXPECT_EQ(lab.record(0, 0).logprob, 0);
}

TEST_F(Sample, MoreAlternativesThanTheRingHoldsAreForTheHost) {
  cuda::SampleSettings s;
  s.logprobs = 20;
  EXPECT_TRUE(cuda::device_can_sample(s, 20));
  EXPECT_FALSE(cuda::device_can_sample(s, 19));
}

}  // namespace
}  // namespace rz
