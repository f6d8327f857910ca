#include "base/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace rz {
namespace {

// The known answers that the authors of the paper publish with their own implementation (kat_vectors).
TEST(Philox, GivesTheAuthorsKnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  const auto words = [](PhiloxWords counter, uint32_t key0, uint32_t key1) {
    return std::to_array(philox(counter, key0, key1).v);
  };
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(words({{0, 0, 0, 0}}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words({{kOnes, kOnes, kOnes, kOnes}}, kOnes, kOnes),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DependsOnEveryBitOfSeedAndStepAndOnTheNumber) {
  const float first = philox_uniform(0, 0, 0);
  EXPECT_EQ(first, static_cast<float>(0x6627e8d5u >> 8) / 16777216.0f);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(philox_uniform(uint64_t{1} << bit, 0, 0), first);
    EXPECT_NE(philox_uniform(0, uint64_t{1} << bit, 0), first);
  }
  EXPECT_NE(philox_uniform(0, 0, 1), first);
}

TEST(Philox, NumbersFillTheUnitIntervalEvenly) {
  std::array<int, 64> bins{};
  constexpr int kDraws = 64000;
  for (uint64_t step = 0; step < kDraws; ++step) {
    const float u = philox_uniform(42, step, 0);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++bins[static_cast<size_t>(u * 64)];
  }
  double chi_square = 0;
  for (const int n : bins) chi_square += std::pow(n - kDraws / 64, 2) / (kDraws / 64);
  EXPECT_LT(chi_square, 117);  // 63 degrees of freedom: 1 in 50,000 passes this by chance
}

}  // namespace
}  // namespace rz
