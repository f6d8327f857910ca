// Parts of the device's sampler against those of the engine, where a token alone would seldom show a
// difference: the bits of sums, and the moment at which a ranking knows that it is complete.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

#include "cuda/emulator/faults.h"
#include "cuda/kernels/sample_survivors.h"
#include "cuda/launch.h"
#include "engine/ranking.h"
#include "engine/softmax.h"

namespace rz {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int32_t kQueries = 12;

struct PartArgs {
  const float *logits;        // (vocab)
  int32_t vocab;              //
  float max, scale, center;   // center NaN: ranked by logit
  int32_t keep;               // > 0: a list of the first ones
  uint64_t *keys[2];          // (vocab)
  int32_t queries[kQueries];  // ranks asked for
  int32_t *answers;           // (kQueries, 3): has, is_list, token
  double *sums;               // (2)
};

RZ_DEVICE cuda::Survivors begin(const PartArgs &a) {
  cuda::Survivors s;
  s.ranking.n_vocab = a.vocab;
  s.ranking.keys = a.keys[0];
  s.ranking.spare = a.keys[1];
  s.ranking.prepared = nullptr;
  s.ranking.rank(a.logits, a.max);
  s.logits = nullptr;
  s.max = a.max;
  s.all_known = false;
  return s;
}

RZ_KERNEL(cuda::kSampleThreads, 1)
ranking_kernel(RZ_ARGS(PartArgs) a) {
  cuda::Ranking ranking = begin(a).ranking;
  if (a.keep > 0 && ranking.has(a.keep - 1)) ranking.keep_first(a.keep);
  if (a.center == a.center) ranking.rank_by_distance(a.center);
  for (int q = 0; q < kQueries; ++q) {
    const bool has = ranking.has(a.queries[q]);
    if (cuda::thread() != 0) continue;
    a.answers[3 * q] = has;
    a.answers[3 * q + 1] = ranking.is_list();
    a.answers[3 * q + 2] = has ? ranking.token(a.queries[q]) : -1;
  }
}

RZ_KERNEL(cuda::kSampleThreads, 1)
sums_kernel(RZ_ARGS(PartArgs) a) {
  cuda::Survivors s = begin(a);
  s.logits = const_cast<float *>(a.logits);
  if (a.keep > 0 && s.ranking.has(a.keep - 1)) s.ranking.keep_first(a.keep);
  const cuda::ExpSums sums = s.sums(a.scale);
  if (cuda::thread() == 0) {
    a.sums[0] = sums.weights;
    a.sums[1] = sums.weighted;
  }
}

class SampleParts : public testing::Test {
 protected:
  // Rounded to halves: ties. Wide ones need all windows.
  void make_logits(int32_t n) {
    std::normal_distribution<float> normal(0, std::vector<float>{0.1f, 2, 8, 30, 1e30f}[random() % 5]);
    const bool ties = random() % 3 == 0;
    logits.resize(static_cast<size_t>(n));
    for (float &l : logits) l = ties ? std::round(normal(random) * 2) / 2 : normal(random);
    if (random() % 4 == 0) {
      for (float &l : logits) l = random() % 3 == 0 ? -kInfinity : l;
      logits[random() % logits.size()] = 0.5f;
    }
  }

  PartArgs args() {
    const auto n = logits.size();
    if (keys.size_bytes() < n * 16) keys = {0, n * 16};
    PartArgs a{};
    a.logits = logits.data();
    a.vocab = static_cast<int32_t>(n);
    a.max = max_logit(logits);
    a.scale = 1;
    a.center = std::numeric_limits<float>::quiet_NaN();
    a.keys[0] = keys.as<uint64_t>();
    a.keys[1] = keys.as<uint64_t>() + n;
    a.answers = answers;
    a.sums = sums;
    return a;
  }

  void run(void (*kernel)(PartArgs), const PartArgs &a) {
    cuda::emulator::faults().seed = random() % 100;
    cuda::launch(queue, kernel, "part", {}, cuda::kSampleThreads, sizeof(cuda::SampleShared), a);
    queue.wait();
  }

  std::mt19937_64 random{3};
  std::vector<float> logits;
  cuda::DeviceMemory keys;
  cuda::Queue queue{0};
  int32_t answers[3 * kQueries];
  double sums[2];
};

TEST_F(SampleParts, ARankingIsCompleteWhenTheEnginesIs) {
  for (int round = 0; round < 150; ++round) {
    const int32_t n = std::vector<int32_t>{1, 7, 300, 3000, 9000}[random() % 5];
    make_logits(n);
    PartArgs a = args();
    for (int32_t &q : a.queries) q = static_cast<int32_t>(random() % (round % 2 ? 60 : n + 1));
    std::sort(a.queries, a.queries + kQueries);
    if (random() % 3 == 0) a.keep = 1 + static_cast<int32_t>(random() % static_cast<uint64_t>(n));
    // A center between two logits of the same list has ties of distance.
    if (random() % 2) a.center = (a.max + logits[random() % logits.size()]) / 2;
    if (!(a.center > -kInfinity)) a.center = a.max;
    run(ranking_kernel, a);

    Ranking expected(n);
    expected.rank(logits, a.max);
    const size_t keep = static_cast<size_t>(a.keep);
    if (keep > 0 && expected.has(keep - 1)) expected.keep_first(keep);
    if (a.center == a.center) expected.rank_by_distance(a.center);
    for (int q = 0; q < kQueries; ++q) {
      const size_t rank = static_cast<size_t>(a.queries[q]);
      const bool has = expected.has(rank);
      ASSERT_EQ(answers[3 * q], has) << "rank " << rank << " of " << n << ", round " << round;
      ASSERT_EQ(answers[3 * q + 1], expected.is_list())
          << "rank " << rank << " of " << n << ", round " << round;
      ASSERT_EQ(answers[3 * q + 2], has ? expected.token(rank) : -1) << "rank " << rank << " of " << n;
    }
  }
}

// A list longer than shared memory, in which tokens of different logits are equally far from the center.
TEST_F(SampleParts, TiesOfDistanceGoToTheLowestId) {
  constexpr int32_t kVocab = 7000;
  logits.resize(kVocab);
  for (float &l : logits) l = static_cast<float>(random() % 9) * 0.5f;
  PartArgs a = args();
  a.keep = 6000;
  a.center = 2;
  for (int q = 0; q < kQueries; ++q) a.queries[q] = 500 * q;
  run(ranking_kernel, a);
  Ranking expected(kVocab);
  expected.rank(logits, a.max);
  ASSERT_TRUE(expected.has(5999));
  expected.keep_first(6000);
  expected.rank_by_distance(a.center);
  for (size_t q = 0; q < kQueries; ++q) {
    ASSERT_TRUE(expected.has(500 * q));
    EXPECT_EQ(answers[3 * q + 2], expected.token(500 * q));
  }
}

TEST_F(SampleParts, SumsOverTheVocabularyHaveTheHostsBits) {
  for (const int32_t n : {1, 15, 128, 129, 1000, 5000, 70001}) {
    for (int round = 0; round < 4; ++round) {
      make_logits(n);
      PartArgs a = args();
      a.scale = std::vector<float>{1, 0.7f, 3, 1e30f}[static_cast<size_t>(round)];
      run(sums_kernel, a);
      const ExpSums expected = exp_sums(logits, a.max, a.scale);
      ASSERT_EQ(std::bit_cast<uint64_t>(sums[0]), std::bit_cast<uint64_t>(expected.weights)) << n;
      ASSERT_EQ(std::bit_cast<uint64_t>(sums[1]), std::bit_cast<uint64_t>(expected.weighted)) << n;
    }
  }
}

TEST_F(SampleParts, SumsOverAListFollowItsRanks) {
  for (int round = 0; round < 40; ++round) {
    const int32_t n = 1 + static_cast<int32_t>(random() % 3000);
    make_logits(n);
    PartArgs a = args();
    a.keep = 1 + static_cast<int32_t>(random() % static_cast<uint64_t>(n));
    a.scale = 0.3f + static_cast<float>(random() % 100) * 0.02f;
    Ranking ranking(n);
    ranking.rank(logits, a.max);
    if (!ranking.has(static_cast<size_t>(a.keep) - 1)) continue;
    run(sums_kernel, a);
    ExpSums expected;
    for (size_t i = 0; i < static_cast<size_t>(a.keep); ++i) {
      const float x = (ranking.logit(i) - a.max) * a.scale, w = exp_weight(x);
      expected.weights += static_cast<double>(w);
      if (w > 0) expected.weighted += static_cast<double>(w) * static_cast<double>(x);
    }
    ASSERT_EQ(std::bit_cast<uint64_t>(sums[0]), std::bit_cast<uint64_t>(expected.weights)) << n;
    ASSERT_EQ(std::bit_cast<uint64_t>(sums[1]), std::bit_cast<uint64_t>(expected.weighted)) << n;
  }
}

}  // namespace
}  // namespace rz
