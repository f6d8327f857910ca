#include "engine/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace rz {
namespace {

std::vector<float> random_logits(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, seed % 3 == 0 ? 0.2f : 5.0f);
  std::vector<float> logits(n);
  for (float &l : logits) l = seed % 2 ? std::round(normal(random)) : normal(random);  // rounded: many ties
  if (n > 5) logits[n / 2] = -std::numeric_limits<float>::infinity();
  return logits;
}

// Ids by (score descending, id ascending), without those at -infinity.
template <class Score>
std::vector<int32_t> sorted(const std::vector<float> &logits, Score score) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) ids.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return score(logits[static_cast<size_t>(a)]) > score(logits[static_cast<size_t>(b)]);
  });
  return ids;
}

std::vector<int32_t> all(Ranking &ranking) {
  std::vector<int32_t> ids;
  for (size_t i = 0; ranking.has(i); ++i) ids.push_back(ranking.token(i));
  return ids;
}

TEST(Ranking, OrdersByLogitAndTiesById) {
  uint32_t seed = 0;
  for (const size_t n : {1u, 2u, 127u, 128u, 129u, 3000u, 20000u, 50000u}) {
    for (int round = 0; round < 6; ++round) {
      const std::vector<float> logits = random_logits(n, seed++);
      Ranking ranking(static_cast<int32_t>(n));
      ranking.rank(logits, *std::max_element(logits.begin(), logits.end()));
      ASSERT_EQ(all(ranking), sorted(logits, [](float l) { return l; }));
    }
  }
}

TEST(Ranking, OrdersByDistanceWholeOrListAndBackByLogit) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const std::vector<float> logits = random_logits(6000, seed);
    Ranking ranking(6000);
    ranking.rank(logits, *std::max_element(logits.begin(), logits.end()));
    const auto distance = [](float l) { return -std::fabs(l - 0.75f); };
    std::vector<int32_t> expected = sorted(logits, [](float l) { return l; });
    if (seed % 2) {
      ASSERT_TRUE(ranking.has(2499));
      ranking.keep_first(2500);
      expected.resize(2500);
    }
    std::sort(expected.begin(), expected.end());
    std::vector<float> kept(6000, -std::numeric_limits<float>::infinity());
    for (const int32_t id : expected) kept[static_cast<size_t>(id)] = logits[static_cast<size_t>(id)];

    ranking.rank_by_distance(0.75f);
    expected = sorted(kept, distance);
    ASSERT_EQ(all(ranking), expected);
    ranking.keep_first(700);
    ranking.rank_by_logit();
    EXPECT_TRUE(ranking.is_list());
    EXPECT_EQ(ranking.size(), 700u);
    expected.resize(700);
    std::sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) {
      const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
      return x != y ? x > y : a < b;
    });
    ASSERT_EQ(all(ranking), expected);
  }
}

TEST(Ranking, DropsFromTheFront) {
  const std::vector<float> logits = {1, 5, 3, 4, 2};
  Ranking ranking(5);
  ranking.rank(logits, 5);
  ASSERT_TRUE(ranking.has(2));
  ranking.drop_first(2);
  EXPECT_EQ(all(ranking), (std::vector<int32_t>{2, 4, 0}));
}

}  // namespace
}  // namespace rz
